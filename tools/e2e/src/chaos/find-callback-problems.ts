import { expectOutcome } from './expected-outcome.ts';
import { transfersTo } from './find-order-problems.ts';
import type { Arrival, ChaosFacts, NotificationRow, OrderTerms } from './facts.ts';

/** After this many failed attempts a newer callback may supersede an older one (docs/api.md section 6). */
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
      .map((id) => `a callback arrived for the unknown order ${id}`),
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

function findChangedBodies(arrivals: readonly Arrival[]): string[] {
  return [...groupBy(arrivals, ({ nonce }) => nonce)].flatMap(([nonce, same]) => {
    const bodies = new Set(same.map(({ notifyType, dataText }) => `${notifyType} ${dataText}`));
    return bodies.size === 1 ? [] : [`${nonce} arrived with ${bodies.size} different bodies`];
  });
}

/**
 * Each arrival needs a recorded attempt, or a fault that prevented the record. One fault hits only the attempts that
 * are running: at the load of these runs at most ATTEMPTS_HIT_BY_A_FAULT.
 */
function findRepetitionProblems({ arrivals, tables, senderFaults }: ChaosFacts): string[] {
  const recorded = new Map(tables.notifications.map((row) => [row.eventId, row.attemptsRecorded]));
  const problems: string[] = [];
  let unexplained = 0;
  for (const [nonce, { length: times }] of groupBy(arrivals, (arrival) => arrival.nonce)) {
    const attempts = recorded.get(nonce) ?? 0;
    unexplained += Math.max(0, times - attempts);
    if (times > attempts + senderFaults)
      problems.push(`${nonce} arrived ${times} times with ${attempts} attempts and ${senderFaults} faults`);
  }
  if (unexplained > senderFaults * ATTEMPTS_HIT_BY_A_FAULT)
    problems.push(`${unexplained} callbacks arrived without an attempt, with ${senderFaults} faults`);
  return problems;
}

function findStoryProblems(facts: ChaosFacts, terms: OrderTerms, rows: readonly NotificationRow[]): string[] {
  const decidedUntil = facts.decidedUntilSeconds.get(terms.chain) ?? 0;
  const { story } = expectOutcome(terms, transfersTo(facts, terms), decidedUntil);
  const statuses = rows.map(({ dataText }) => (JSON.parse(dataText) as { status: string }).status).join(' ');
  if (story.test(statuses)) return [];
  return [`${terms.orderId}: its callbacks are "${statuses}", must match ${story.source}`];
}

/** Each queued callback must arrive at least once and in order, and no other. */
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
    if (!nonces.has(row.eventId)) problems.push(`${name} never arrived`);
    if (row.deliveryState !== 'DELIVERED') problems.push(`${name} is ${row.deliveryState ?? 'not queued'}`);
  }
  let newest = -1;
  for (const { nonce, notifyType, dataText, data } of came) {
    const index = rows.findIndex((row) => row.eventId === nonce);
    const row = rows[index];
    const name = `${terms.orderId}: callback ${notifyType} ${data.status} (${nonce})`;
    if (row === undefined) problems.push(`${name} was never queued`);
    else if (row.notifyType !== notifyType || row.dataText !== dataText)
      problems.push(`${name} differs from the queued one`);
    if (index < newest) problems.push(`${name} arrived after a newer one`);
    newest = Math.max(newest, index);
  }
  return problems;
}

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
