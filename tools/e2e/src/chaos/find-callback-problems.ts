import { expectOutcome } from './expected-outcome.ts';
import { transfersTo } from './find-order-problems.ts';
import type { Arrival, ChaosFacts, NotificationRow, OrderTerms } from './facts.ts';

/** After so many failed attempts a newer callback may go first, and the older one is never sent (docs/api.md section 6). */
const ATTEMPTS_BEFORE_OVERTAKING = 3;
const ATTEMPTS_HIT_BY_A_FAULT = 20;
const TYPES: Readonly<Record<string, string>> = {
  INIT: 'ORDER_PENDING',
  PENDING: 'ORDER_PENDING',
  PENDING_CONFIRMATION: 'ORDER_PENDING_CONFIRMATION',
  SUCCESS: 'ORDER_SUCCESS',
  EXPIRED: 'ORDER_EXPIRED',
  FAILED: 'ORDER_FAILED',
};

/** What the merchant's server received, against what the chains say must have been told; one line per problem. */
export function findCallbackProblems(facts: ChaosFacts): string[] {
  const { arrivals, tables, terms, payouts } = facts;
  const orderIds = new Map(tables.orders.map((row) => [row.orderPk, row.orderId]));
  const queued = groupBy(tables.notifications, (row) => orderIds.get(row.orderPk) ?? row.orderPk);
  const received = groupBy(arrivals, ({ data }) => data.orderId);
  const known = new Set([...terms, ...payouts].map(({ orderId }) => orderId));
  return [
    ...arrivals.flatMap(({ nonce, signatureProblems }) => signatureProblems.map((why) => `${nonce}: ${why}`)),
    ...findChangedBodies(arrivals),
    ...arrivals.flatMap(({ nonce, notifyType, data }) =>
      TYPES[data.status] === notifyType
        ? []
        : [`${data.orderId}: callback ${nonce} has type ${notifyType} for status ${data.status}`],
    ),
    ...findRepetitionProblems(facts),
    ...[...received.keys()]
      .filter((id) => !known.has(id))
      .map((id) => `a callback came for ${id}, which is no order`),
    ...terms.flatMap((one) => {
      const rows = (queued.get(one.orderId) ?? []).toSorted((a, b) => a.sequence - b.sequence);
      const came = received.get(one.orderId) ?? [];
      return [
        ...findStoryProblems(facts, one, rows),
        ...findDeliveryProblems(one, rows, came),
        ...came.flatMap((arrival) => findContentProblems(facts, one, arrival)),
      ];
    }),
  ];
}

/** The same nonce says the same, however often it comes. */
function findChangedBodies(arrivals: readonly Arrival[]): string[] {
  return [...groupBy(arrivals, ({ nonce }) => nonce)].flatMap(([nonce, same]) => {
    const bodies = new Set(same.map(({ notifyType, dataText }) => `${notifyType} ${dataText}`));
    return bodies.size === 1 ? [] : [`${nonce} came with ${bodies.size} different bodies`];
  });
}

/**
 * At least once is not any number of times: each arrival is an attempt that was recorded, or one that a fault kept from it.
 * A fault hits the attempts of one moment: few, at the load of these runs.
 */
function findRepetitionProblems({ arrivals, tables, senderFaults }: ChaosFacts): string[] {
  const recorded = new Map(tables.notifications.map((row) => [row.eventId, row.attemptsRecorded]));
  const problems: string[] = [];
  let unexplained = 0;
  for (const [nonce, { length: times }] of groupBy(arrivals, (arrival) => arrival.nonce)) {
    const attempts = recorded.get(nonce) ?? 0;
    unexplained += Math.max(0, times - attempts);
    if (times > attempts + senderFaults)
      problems.push(`${nonce} came ${times} times by ${attempts} attempts, with ${senderFaults} faults`);
  }
  if (unexplained > senderFaults * ATTEMPTS_HIT_BY_A_FAULT)
    problems.push(`${unexplained} callbacks came by no attempt, with ${senderFaults} faults`);
  return problems;
}

/** Whether what was to be told is a possible life of an order with such payments. */
function findStoryProblems(facts: ChaosFacts, terms: OrderTerms, rows: readonly NotificationRow[]): string[] {
  const decidedUntil = facts.decidedUntilSeconds.get(terms.chain) ?? 0;
  const { story } = expectOutcome(terms, transfersTo(facts, terms), decidedUntil);
  const statuses = rows.map(({ dataText }) => (JSON.parse(dataText) as { status: string }).status).join(' ');
  if (story.test(statuses)) return [];
  return [`${terms.orderId}: its callbacks tell "${statuses}", which is not ${story.source}`];
}

/** Each at least once, in order, and nothing else. */
export function findDeliveryProblems(
  terms: Pick<OrderTerms, 'orderId'>,
  rows: readonly NotificationRow[],
  came: readonly Arrival[],
): string[] {
  const problems: string[] = [];
  const nonces = new Set(came.map(({ nonce }) => nonce));
  for (const [index, row] of rows.entries()) {
    const name = `${terms.orderId}: callback ${row.notifyType} (${row.eventId})`;
    const mayBeOvertaken = index < rows.length - 1 && row.attempts >= ATTEMPTS_BEFORE_OVERTAKING;
    if (row.deliveryState === 'SUPERSEDED' && mayBeOvertaken) continue;
    if (!nonces.has(row.eventId)) problems.push(`${name} never came`);
    if (row.deliveryState !== 'DELIVERED') problems.push(`${name} is ${row.deliveryState ?? 'not queued'}`);
  }
  let newest = -1;
  for (const { nonce, notifyType, dataText, data } of came) {
    const index = rows.findIndex((row) => row.eventId === nonce);
    const row = rows[index];
    const name = `${terms.orderId}: callback ${notifyType} ${data.status} (${nonce})`;
    if (row === undefined) problems.push(`${name} says what never was`);
    else if (row.notifyType !== notifyType || row.dataText !== dataText)
      problems.push(`${name} was changed on its way`);
    if (index < newest) problems.push(`${name} came after a newer one`);
    newest = Math.max(newest, index);
  }
  return problems;
}

/** What a callback says of amounts and transactions, against the terms and the chain. */
function findContentProblems(facts: ChaosFacts, terms: OrderTerms, { nonce, data }: Arrival): string[] {
  const problems: string[] = [];
  const wrong = (what: string): void => void problems.push(`${terms.orderId}: callback ${nonce} has ${what}`);
  if (data.amount !== terms.amountText) wrong(`amount ${data.amount}, not ${terms.amountText}`);
  const { transaction } = data;
  if (data.status === 'SUCCESS' && (data.actualAmount === null || transaction === null))
    wrong('neither amount nor transaction of the payment');
  if (transaction === null) return problems;
  const isKnown =
    facts.takenBack.has(transaction.txid) ||
    transfersTo(facts, terms).some(
      (one) =>
        one.txHash === transaction.txid &&
        (data.status !== 'SUCCESS' || one.blockHeight === transaction.blockNum),
    );
  if (!isKnown)
    wrong(`transaction ${transaction.txid} of block ${transaction.blockNum}, which never paid it`);
  return problems;
}

function groupBy<Item>(items: readonly Item[], key: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}
