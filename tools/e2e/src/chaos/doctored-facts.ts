import type { Arrival, ChaosFacts, GatewayTables, NotificationRow, OrderRow, TransferRow } from './facts.ts';

/** Correct facts with one change, and the problem that the checker must report. */
export interface Doctoring {
  readonly name: string;
  readonly doctor: (facts: ChaosFacts) => ChaosFacts;
  readonly isNamed: RegExp;
}

/**
 * Errors that a gateway under chaos could make. They prove that the checker detects them. The facts need a SUCCESS
 * order, an EXPIRED order and an unmatched transfer.
 */
export const DOCTORINGS: readonly Doctoring[] = [
  {
    name: 'a callback never arrived',
    doctor: (facts) =>
      withArrivals(facts, (all) => all.filter(({ nonce }) => nonce !== paidEvent(facts).eventId)),
    isNamed: /callback ORDER_SUCCESS .* never arrived/,
  },
  {
    name: 'a callback was given up after one attempt',
    doctor: (facts) => {
      const first = eventsOf(facts, paidOrder(facts))[0];
      const doctored = withArrivals(facts, (all) => all.filter(({ nonce }) => nonce !== first?.eventId));
      return withTables(doctored, {
        notifications: changed(facts.tables.notifications, first, {
          deliveryState: 'SUPERSEDED',
          attempts: 1,
        }),
      });
    },
    isNamed: /is SUPERSEDED/,
  },
  {
    name: 'an older callback was repeated after a newer one',
    doctor: (facts) =>
      withArrivals(facts, (all) => [...all, arrivalOf(facts, eventsOf(facts, paidOrder(facts))[0])]),
    isNamed: /arrived after a newer one/,
  },
  {
    name: 'a callback was repeated too often',
    doctor: (facts) => {
      const last = arrivalOf(facts, paidEvent(facts));
      return withArrivals(facts, (all) => [...all, ...all.map(() => last)]);
    },
    isNamed: /arrived \d+ times with \d+ attempts/,
  },
  {
    name: 'every callback arrived twice',
    doctor: (facts) => withArrivals(facts, (all) => all.flatMap((one) => [one, one])),
    isNamed: /callbacks arrived without an attempt/,
  },
  {
    name: 'two callbacks arrived in the wrong order',
    doctor: (facts) => {
      const ofOrder = new Set(eventsOf(facts, paidOrder(facts)).map(({ eventId }) => eventId));
      const isOfOrder = ({ nonce }: Arrival): boolean => ofOrder.has(nonce);
      return withArrivals(facts, (all) => [
        ...all.filter((one) => !isOfOrder(one)),
        ...all.filter(isOfOrder).toReversed(),
      ]);
    },
    isNamed: /arrived after a newer one/,
  },
  {
    name: 'a callback was never queued',
    doctor: (facts) =>
      withArrivals(facts, (all) => [...all, { ...arrivalOf(facts, paidEvent(facts)), nonce: 'invented' }]),
    isNamed: /\(invented\) was never queued/,
  },
  {
    name: 'a retry has a different body',
    doctor: (facts) => {
      const arrival = arrivalOf(facts, paidEvent(facts));
      return withArrivals(facts, (all) => [...all, { ...arrival, dataText: `${arrival.dataText} ` }]);
    },
    isNamed: /arrived with 2 different bodies/,
  },
  {
    name: 'a signature is invalid',
    doctor: (facts) =>
      withArrivals(facts, ([first, ...others]) =>
        first === undefined ? [] : [{ ...first, signatureProblems: ['sign is invalid'] }, ...others],
      ),
    isNamed: /sign is invalid/,
  },
  {
    name: 'a callback names a transaction that never paid the order',
    doctor: (facts) =>
      withArrivals(facts, (all) => all.map((one) => withTransaction(one, `0x${'00'.repeat(32)}`))),
    isNamed: /transaction 0x0+ of block \d+, which never paid it/,
  },
  {
    name: 'a paid order is EXPIRED',
    doctor: (facts) => withOrder(facts, paidOrder(facts), { status: 'EXPIRED' }),
    isNamed: /the status is EXPIRED, must be SUCCESS/,
  },
  {
    name: 'an expired order is SUCCESS',
    doctor: (facts) => withOrder(facts, expiredOrder(facts), { status: 'SUCCESS' }),
    isNamed: /the status is SUCCESS, must be EXPIRED/,
  },
  {
    name: 'an order that was paid in time expired temporarily',
    doctor: (facts) => {
      const event = paidEvent(facts);
      const dataText = event.dataText.replace('"SUCCESS"', '"EXPIRED"');
      return withTables(facts, {
        notifications: changed(facts.tables.notifications, event, { notifyType: 'ORDER_EXPIRED', dataText }),
      });
    },
    isNamed: /its callbacks are ".*EXPIRED"/,
  },
  {
    name: 'an order has an amount that was not paid',
    doctor: (facts) => {
      const order = paidOrder(facts);
      return withOrder(facts, order, { actualAmount: (order.actualAmount ?? 0n) + 1n });
    },
    isNamed: /the actual amount is \d+, must be \d+/,
  },
  {
    name: 'an order is missing',
    doctor: (facts) =>
      withTables(facts, { orders: facts.tables.orders.filter((row) => row !== paidOrder(facts)) }),
    isNamed: /the order is missing/,
  },
  {
    name: 'two orders have the same address',
    doctor: (facts) => withOrder(facts, expiredOrder(facts), { address: paidOrder(facts).address }),
    isNamed: /belongs to two orders/,
  },
  {
    name: 'a transfer is booked twice',
    doctor: (facts) => {
      const transfer = creditedTransfer(facts);
      return withTables(facts, { transfers: [...facts.tables.transfers, { ...transfer, transferId: -1 }] });
    },
    isNamed: /a transfer was counted twice/,
  },
  {
    name: 'a transfer was missed',
    doctor: (facts) =>
      withTables(facts, {
        transfers: facts.tables.transfers.filter((row) => row !== creditedTransfer(facts)),
      }),
    isNamed: /a transfer was missed/,
  },
  {
    name: 'a transfer still has its block of before a reorganisation',
    doctor: (facts) => {
      const blockHash = `0x${'ff'.repeat(32)}`;
      return withTables(facts, {
        transfers: changed(facts.tables.transfers, creditedTransfer(facts), { blockHash }),
      });
    },
    isNamed: /a transfer was invented/,
  },
  {
    name: 'an unmatched transfer is not recorded as such',
    doctor: (facts) => {
      const transfer = facts.tables.transfers.find(({ unmatched }) => unmatched !== null);
      return withTables(facts, { transfers: changed(facts.tables.transfers, transfer, { unmatched: null }) });
    },
    isNamed: /has the unmatched reason null, must be [A-Z_]+/,
  },
  {
    name: 'a posting is off by one',
    doctor: (facts) => withFirstPosting(facts, 1n),
    isNamed: /sums to 1 of/,
  },
  {
    name: 'a balance differs from the sum of its postings',
    doctor: (facts) =>
      withTables(facts, {
        accounts: facts.tables.accounts.map((row) => ({ ...row, balance: row.balance + 1n })),
      }),
    isNamed: /has a balance of \d+, its postings sum to/,
  },
  {
    name: 'a balanced deposit is in the ledger twice',
    doctor: withDepositTwice,
    isNamed: /DEPOSIT .* has \d+, must have \d+/,
  },
  {
    name: 'a message was dead-lettered',
    doctor: (facts) =>
      withTables(facts, { leftovers: { ...facts.tables.leftovers, 'messages in x.dead': 1 } }),
    isNamed: /1 left over: messages in x\.dead/,
  },
];

function withTables(facts: ChaosFacts, tables: Partial<GatewayTables>): ChaosFacts {
  return { ...facts, tables: { ...facts.tables, ...tables } };
}

function withArrivals(
  facts: ChaosFacts,
  change: (all: readonly Arrival[]) => readonly Arrival[],
): ChaosFacts {
  return { ...facts, arrivals: change(facts.arrivals) };
}

function withOrder(facts: ChaosFacts, order: OrderRow, change: Partial<OrderRow>): ChaosFacts {
  return withTables(facts, { orders: changed(facts.tables.orders, order, change) });
}

function changed<Row>(rows: readonly Row[], which: Row | undefined, change: Partial<Row>): readonly Row[] {
  return rows.map((row) => (row === which ? { ...row, ...change } : row));
}

function withTransaction(arrival: Arrival, txid: string): Arrival {
  const { transaction } = arrival.data;
  if (transaction === null) return arrival;
  return { ...arrival, data: { ...arrival.data, transaction: { ...transaction, txid } } };
}

function withFirstPosting(facts: ChaosFacts, more: bigint): ChaosFacts {
  const [first, ...others] = facts.tables.ledger;
  const [posting, ...rest] = first?.postings ?? [];
  if (first === undefined || posting === undefined) throw new Error('the ledger is empty');
  const postings = [{ ...posting, amount: posting.amount + more }, ...rest];
  return withTables(facts, { ledger: [{ ...first, postings }, ...others] });
}

function withDepositTwice(facts: ChaosFacts): ChaosFacts {
  const { ledger, accounts } = facts.tables;
  const deposit = ledger.find(({ kind }) => kind === 'DEPOSIT');
  if (deposit === undefined) throw new Error('the ledger has no deposit');
  const more = new Map(deposit.postings.map(({ accountId, amount }) => [accountId, amount]));
  return withTables(facts, {
    ledger: [...ledger, { ...deposit, ledgerTxId: -1, ref: `${deposit.ref} again` }],
    accounts: accounts.map((row) => ({ ...row, balance: row.balance + (more.get(row.accountId) ?? 0n) })),
  });
}

function paidOrder(facts: ChaosFacts): OrderRow {
  return required(
    facts.tables.orders.find(
      (row) =>
        row.status === 'SUCCESS' &&
        eventsOf(facts, row).every(({ deliveryState }) => deliveryState === 'DELIVERED'),
    ),
    'a SUCCESS order with all its callbacks',
  );
}

function expiredOrder(facts: ChaosFacts): OrderRow {
  return required(
    facts.tables.orders.find(({ status }) => status === 'EXPIRED'),
    'an EXPIRED order',
  );
}

function creditedTransfer(facts: ChaosFacts): TransferRow {
  return required(
    facts.tables.transfers.find(({ credited }) => credited),
    'a credited transfer',
  );
}

function eventsOf(facts: ChaosFacts, { orderPk }: OrderRow): readonly NotificationRow[] {
  return facts.tables.notifications
    .filter((row) => row.orderPk === orderPk)
    .toSorted((a, b) => a.sequence - b.sequence);
}

function paidEvent(facts: ChaosFacts): NotificationRow {
  return required(eventsOf(facts, paidOrder(facts)).at(-1), 'a callback of it');
}

function arrivalOf(facts: ChaosFacts, event: NotificationRow | undefined): Arrival {
  return required(
    facts.arrivals.find(({ nonce }) => nonce === event?.eventId),
    'an arrival of it',
  );
}

function required<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw new Error(`the facts need ${what}`);
  return value;
}
