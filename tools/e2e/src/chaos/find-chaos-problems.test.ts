import { expect, it } from 'vitest';
import type { NotifyOrder, OrderStatus } from '@opentill/contracts/notify-order';
import { DOCTORINGS } from './doctored-facts.ts';
import { PAYOUT_DOCTORINGS } from './doctored-payouts.ts';
import type {
  Arrival,
  ChainTransfer,
  ChaosFacts,
  NotificationRow,
  OrderRow,
  OrderTerms,
  PayoutTerms,
  TransferRow,
} from './facts.ts';
import { findChaosProblems } from './find-chaos-problems.ts';

const CHAIN = 'ETH_SEPOLIA';
const USDT = '0xdec06';
const USDC = '0xcafe';
const EXPIRY = 1_000;

interface Life {
  /** [token, amount, block time] */
  readonly payments: readonly (readonly [string, bigint, number])[];
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly actualAmount: bigint | null;
  readonly story: readonly OrderStatus[];
  readonly unmatched: readonly (string | null)[];
}

const AMOUNT = 100n;
const LIVES: readonly Life[] = [
  {
    payments: [
      [USDT, 40n, 900],
      [USDT, 60n, 1_000],
    ],
    status: 'SUCCESS',
    reason: null,
    actualAmount: 100n,
    story: ['INIT', 'PENDING', 'PENDING_CONFIRMATION', 'SUCCESS'],
    unmatched: [null, null],
  },
  {
    payments: [
      [USDT, 30n, 900],
      [USDT, 100n, 1_001],
    ],
    status: 'EXPIRED',
    reason: 'Paid after expiry',
    actualAmount: 130n,
    story: ['INIT', 'PENDING', 'EXPIRED', 'EXPIRED'],
    unmatched: ['UNDERPAID', 'LATE'],
  },
  {
    payments: [[USDC, 100n, 900]],
    status: 'EXPIRED',
    reason: 'Not paid',
    actualAmount: null,
    story: ['INIT', 'EXPIRED'],
    unmatched: ['WRONG_TOKEN'],
  },
];

it('reports no problems for correct facts', () => {
  expect(findChaosProblems(rightFacts())).toEqual([]);
});

it.each([...DOCTORINGS, ...PAYOUT_DOCTORINGS].map((one) => [one.name, one] as const))(
  'detects that %s',
  (_name, { doctor, isNamed }) => {
    const problems = findChaosProblems(doctor(rightFacts()));
    expect(problems.join('\n')).toMatch(isNamed);
  },
);

it('accepts callbacks of a reorganised order only after a reorganisation', () => {
  const changed = withStory(rightFacts(), [
    'INIT',
    'PENDING_CONFIRMATION',
    'INIT',
    'PENDING_CONFIRMATION',
    'SUCCESS',
  ]);
  expect(findChaosProblems(changed).join('\n')).toMatch(/order-0: its callbacks are/);
  const terms = changed.terms.map((one) => ({ ...one, reorganised: true }));
  expect(findChaosProblems({ ...changed, terms })).toEqual([]);
});

it('accepts callbacks of a reorganised payout only after a reorganisation', () => {
  const changed = withStory(
    rightFacts(),
    ['INIT', 'PENDING', 'PENDING_CONFIRMATION', 'PENDING', 'PENDING_CONFIRMATION', 'SUCCESS'],
    PAID,
  );
  expect(findChaosProblems(changed).join('\n')).toMatch(/out-0: the callbacks of the payout are/);
  const payouts = changed.payouts.map((one) => ({ ...one, reorganised: true }));
  expect(findChaosProblems({ ...changed, payouts })).toEqual([]);
});

it('accepts a missing callback that was superseded after three failures', () => {
  const facts = rightFacts();
  const { eventId } = facts.tables.notifications[1]!;
  const notifications = facts.tables.notifications.map((row) =>
    row.eventId === eventId ? { ...row, deliveryState: 'SUPERSEDED', attempts: 3 } : row,
  );
  const arrivals = facts.arrivals.filter(({ nonce }) => nonce !== eventId);
  expect(findChaosProblems({ ...facts, arrivals, tables: { ...facts.tables, notifications } })).toEqual([]);
});

const RECEIVER = '0x4ece14e4';
const PAID = { orderId: 'out-0', orderPk: 'pk-out-0' };
const REFUSED = { orderId: 'out-1', orderPk: 'pk-out-1' };
const PAYMENT: ChainTransfer = {
  chain: CHAIN,
  txHash: '0x0a1d',
  contract: USDT,
  symbol: 'USDT',
  to: RECEIVER,
  amount: AMOUNT,
  blockHeight: 950,
  blockHash: '0xb950',
  blockTimeSeconds: 950,
};

function payoutFacts() {
  const asked = { chain: CHAIN, symbol: 'USDT', contract: USDT, amountText: '0.0001', amount: AMOUNT };
  const paid: PayoutTerms = {
    ...asked,
    orderId: PAID.orderId,
    receiver: RECEIVER,
    refusal: null,
    reorganised: false,
  };
  const refusal = 'Address denied';
  const refused: PayoutTerms = { ...paid, orderId: REFUSED.orderId, receiver: '0xdead', refusal };
  return {
    payouts: [paid, refused],
    hotWallet: {
      sent: [PAYMENT],
      balances: new Map([
        [`${CHAIN} USDT`, 900n],
        [`${CHAIN} ETH`, 50n],
      ]),
      transactions: new Map([[CHAIN, 1]]),
    },
    rows: [
      { ...PAID, status: 'SUCCESS', reason: null, actualAmount: AMOUNT },
      { ...REFUSED, status: 'FAILED', reason: refusal, actualAmount: null },
    ] as const,
    notifications: [
      ...notificationsOf(
        PAID.orderId,
        PAID.orderPk,
        ['INIT', 'PENDING', 'PENDING_CONFIRMATION', 'SUCCESS'],
        PAYMENT,
      ),
      ...notificationsOf(REFUSED.orderId, REFUSED.orderPk, ['INIT', 'FAILED'], undefined),
    ],
    ledger: [
      {
        ref: 'top-up',
        kind: 'TOP_UP',
        postings: [
          { accountId: 10, amount: 1_000n },
          { accountId: 11, amount: -1_000n },
        ],
      },
      {
        ref: 'reserve',
        kind: 'RESERVE',
        postings: [
          { accountId: 12, amount: 100n },
          { accountId: 10, amount: -100n },
        ],
      },
      {
        ref: 'paid-out',
        kind: 'PAYOUT',
        postings: [
          { accountId: 13, amount: 100n },
          { accountId: 12, amount: -100n },
        ],
      },
      {
        ref: 'gas',
        kind: 'GAS_TOP_UP',
        postings: [
          { accountId: 14, amount: 60n },
          { accountId: 15, amount: -60n },
        ],
      },
      {
        ref: 'fee',
        kind: 'NETWORK_FEE',
        postings: [
          { accountId: 16, amount: 10n },
          { accountId: 14, amount: -10n },
        ],
      },
    ].map((one, place) => ({ ...one, ledgerTxId: 200 + place })),
  };
}

function rightFacts(): ChaosFacts {
  const out = payoutFacts();
  const lives = LIVES.map((life, index) => liveOf(life, index));
  const transfers = lives.flatMap((one) => one.transfers);
  const deposits = transfers.map((one, index) => ({
    ledgerTxId: index,
    ref: `${one.chain}:${one.txHash}`,
    kind: 'DEPOSIT',
    postings: [
      { accountId: one.symbol === 'USDT' ? 1 : 4, amount: one.amount },
      { accountId: one.symbol === 'USDT' ? 2 : 5, amount: -one.amount },
    ],
  }));
  const credit = { ledgerTxId: 100, ref: 'order-0', kind: 'CREDIT' };
  const account = (accountId: number, kind: string, symbol: string, balance: bigint) => ({
    accountId,
    kind,
    chain: CHAIN,
    symbol,
    balance,
  });
  return {
    terms: lives.map((one) => one.terms),
    payouts: out.payouts,
    hotWallet: out.hotWallet,
    transfers,
    balances: new Map([
      [`${CHAIN} USDT`, 230n],
      [`${CHAIN} USDC`, 100n],
    ]),
    decidedUntilSeconds: new Map([[CHAIN, 2_000]]),
    takenBack: new Set(),
    arrivals: [...lives.flatMap((one) => one.arrivals), ...out.notifications.map(arrivalOf)],
    senderFaults: 0,
    tables: {
      orders: lives.map((one) => one.row),
      payouts: out.rows,
      nonces: [{ chain: CHAIN, nonce: 0, state: 'FINAL' }],
      transfers: lives.flatMap((one) => one.transferRows),
      notifications: [...lives.flatMap((one) => one.notifications), ...out.notifications],
      ledger: [
        ...deposits,
        {
          ...credit,
          postings: [
            { accountId: 2, amount: 100n },
            { accountId: 3, amount: -100n },
          ],
        },
        ...out.ledger,
      ],
      accounts: [
        account(1, 'DEPOSIT', 'USDT', 230n),
        account(2, 'SUSPENSE', 'USDT', -130n),
        account(3, 'MERCHANT', 'USDT', -100n),
        account(4, 'DEPOSIT', 'USDC', 100n),
        account(5, 'SUSPENSE', 'USDC', -100n),
        account(10, 'HOT_AVAILABLE', 'USDT', 900n),
        account(11, 'OWNER', 'USDT', -1_000n),
        account(12, 'IN_FLIGHT', 'USDT', 0n),
        account(13, 'PAID_OUT', 'USDT', 100n),
        account(14, 'HOT_GAS', 'ETH', 50n),
        account(15, 'OWNER', 'ETH', -60n),
        account(16, 'NETWORK_FEE', 'ETH', 10n),
      ],
      leftovers: { 'events in the outbox': 0 },
    },
  };
}

interface Lived {
  readonly terms: OrderTerms;
  readonly row: OrderRow;
  readonly transfers: readonly ChainTransfer[];
  readonly transferRows: readonly TransferRow[];
  readonly notifications: readonly NotificationRow[];
  readonly arrivals: readonly Arrival[];
}

function liveOf(life: Life, index: number): Lived {
  const [orderId, orderPk, address] = [`order-${index}`, `pk-${index}`, `0xadd0${index}`];
  const transfers = life.payments.map(([contract, amount, time], place) => ({
    chain: CHAIN,
    txHash: `0xabc${index}${place}`,
    contract,
    symbol: contract === USDT ? 'USDT' : 'USDC',
    to: address,
    amount,
    blockHeight: time,
    blockHash: `0xb${time}`,
    blockTimeSeconds: time,
  }));
  const notifications = notificationsOf(orderId, orderPk, life.story, transfers[0]);
  return {
    terms: {
      orderId,
      chain: CHAIN,
      symbol: 'USDT',
      contract: USDT,
      amountText: '0.0001',
      amount: AMOUNT,
      address,
      expiresAtSeconds: EXPIRY,
      reorganised: false,
    },
    row: {
      orderPk,
      orderId,
      status: life.status,
      reason: life.reason,
      address,
      amount: AMOUNT,
      actualAmount: life.actualAmount,
    },
    transfers,
    transferRows: transfers.map((one, place) => ({
      ...one,
      transferId: index * 10 + place,
      state: 'VERIFIED',
      booked: true,
      credited: life.status === 'SUCCESS',
      settledOrderPk: orderPk,
      unmatched: life.unmatched[place] ?? null,
    })),
    notifications,
    arrivals: notifications.map(arrivalOf),
  };
}

function notificationsOf(
  orderId: string,
  orderPk: string,
  story: readonly OrderStatus[],
  payment: ChainTransfer | undefined,
): NotificationRow[] {
  return story.map((status, sequence) => {
    const isNone = status === 'INIT' || payment === undefined;
    const transaction = isNone ? null : { txid: payment.txHash, blockNum: payment.blockHeight };
    const actualAmount = status === 'SUCCESS' ? '0.0001' : null;
    const type = status === 'INIT' || status === 'PENDING' ? 'PENDING' : status;
    return {
      eventId: `${orderId}-${sequence}`,
      orderPk,
      sequence,
      notifyType: `ORDER_${type}`,
      dataText: JSON.stringify({ orderId, status, amount: '0.0001', actualAmount, transaction }),
      deliveryState: 'DELIVERED',
      attempts: 1,
      attemptsRecorded: 1,
    };
  });
}

function arrivalOf({ eventId, notifyType, dataText }: NotificationRow): Arrival {
  const data = JSON.parse(dataText) as NotifyOrder;
  return { nonce: eventId, notifyType, dataText, data, signatureProblems: [] };
}

/** Replaces the callbacks of an order, by default the first one. */
function withStory(
  facts: ChaosFacts,
  story: readonly OrderStatus[],
  { orderId, orderPk } = { orderId: 'order-0', orderPk: 'pk-0' },
): ChaosFacts {
  const payment = orderId === PAID.orderId ? PAYMENT : facts.transfers[0];
  const notifications = notificationsOf(orderId, orderPk, story, payment);
  return {
    ...facts,
    arrivals: [
      ...facts.arrivals.filter(({ data }) => data.orderId !== orderId),
      ...notifications.map(arrivalOf),
    ],
    tables: {
      ...facts.tables,
      notifications: [
        ...facts.tables.notifications.filter((row) => row.orderPk !== orderPk),
        ...notifications,
      ],
    },
  };
}
