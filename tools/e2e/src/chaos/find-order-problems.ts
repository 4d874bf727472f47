import { expectOutcome, expectUnmatched, sum } from './expected-outcome.ts';
import type { ChainTransfer, ChaosFacts, OrderRow, OrderTerms, TransferRow } from './facts.ts';

export function findOrderProblems(facts: ChaosFacts): string[] {
  const { terms, tables } = facts;
  const rows = new Map(tables.orders.map((row) => [row.orderId, row]));
  const known = new Set(terms.map(({ orderId }) => orderId));
  return [
    ...tables.orders
      .filter((row) => !known.has(row.orderId))
      .map((row) => `${row.orderId}: no merchant requested it`),
    ...findRepeated(tables.orders.map((row) => row.address)).map(
      (address) => `${address} belongs to two orders`,
    ),
    ...findTransferProblems(facts),
    ...terms.flatMap((one) => {
      const row = rows.get(one.orderId);
      if (row === undefined) return [`${one.orderId}: the order is missing`];
      return [...findStateProblems(facts, one, row), ...findUnmatchedProblems(facts, one, row)];
    }),
  ];
}

export function transfersTo(facts: ChaosFacts, terms: OrderTerms): readonly ChainTransfer[] {
  return facts.transfers.filter((transfer) => transfer.to === terms.address);
}

function findStateProblems(facts: ChaosFacts, terms: OrderTerms, row: OrderRow): string[] {
  const decidedUntil = facts.decidedUntilSeconds.get(terms.chain) ?? 0;
  const expected = expectOutcome(terms, transfersTo(facts, terms), decidedUntil);
  const problems: string[] = [];
  const wrong = (what: string, is: unknown, should: unknown): void => {
    problems.push(`${terms.orderId}: ${what} is ${String(is)}, must be ${String(should)}`);
  };
  if (row.address !== terms.address) wrong('the address', row.address, terms.address);
  if (row.amount !== terms.amount) wrong('the amount', row.amount, terms.amount);
  if (row.status !== expected.status) wrong('the status', row.status, expected.status);
  else if (!expected.actualAmounts.includes(row.actualAmount))
    wrong('the actual amount', row.actualAmount, expected.actualAmounts.join(' or '));
  if (row.status === 'EXPIRED' && row.reason !== expected.reason)
    wrong('the reason', row.reason, expected.reason);
  const credited = facts.tables.transfers.filter((one) => one.credited && one.settledOrderPk === row.orderPk);
  if (row.status === 'SUCCESS' && sum(credited) !== row.actualAmount)
    wrong('the sum of the credited transfers', sum(credited), row.actualAmount);
  if (row.status !== 'SUCCESS' && credited.length > 0)
    wrong('the number of credited transfers', credited.length, 0);
  return problems;
}

function findUnmatchedProblems(facts: ChaosFacts, terms: OrderTerms, row: OrderRow): string[] {
  return transfersTo(facts, terms).flatMap((transfer) => {
    const found = facts.tables.transfers.find((one) => identityOf(one) === identityOf(transfer));
    if (found === undefined) return []; // findTransferProblems reports it
    let expected = expectUnmatched(terms, row.status, transfer);
    if (expected === null && row.status === 'SUCCESS' && !found.credited) expected = 'AFTER_SUCCESS';
    if (found.unmatched === expected) return [];
    return [
      `${terms.orderId}: transfer ${transfer.txHash} has the unmatched reason ${found.unmatched}, must be ${expected}`,
    ];
  });
}

/** Each transfer of the chains must be recorded once and verified, and no other. */
function findTransferProblems({ tables, transfers }: ChaosFacts): string[] {
  const live = tables.transfers.filter((row) => row.state !== 'ORPHANED');
  const counts = countByIdentity(live);
  const real = countByIdentity(transfers);
  const problems: string[] = [];
  for (const identity of new Set([...counts.keys(), ...real.keys()])) {
    const [is, should] = [counts.get(identity) ?? 0, real.get(identity) ?? 0];
    if (is < should) problems.push(`a transfer was missed: ${identity}`);
    if (is > should)
      problems.push(`a transfer was ${should === 0 ? 'invented' : 'counted twice'}: ${identity}`);
  }
  for (const row of tables.transfers) {
    if (row.state === 'DETECTED') problems.push(`transfer ${row.txHash} was never verified`);
    if (row.booked !== (row.state === 'VERIFIED'))
      problems.push(`transfer ${row.txHash} is ${row.state} and ${row.booked ? 'booked' : 'not booked'}`);
  }
  return problems;
}

type Identified = Pick<
  TransferRow,
  'chain' | 'txHash' | 'contract' | 'to' | 'amount' | 'blockHeight' | 'blockHash'
>;

/** Equal transfers of one transaction have the same identity; their count is compared. */
function identityOf({ chain, txHash, contract, to, amount, blockHeight, blockHash }: Identified): string {
  return `${chain} ${txHash} in block ${blockHeight} ${blockHash}: ${amount} of ${contract} to ${to}`;
}

function countByIdentity(transfers: readonly Identified[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const transfer of transfers) {
    const identity = identityOf(transfer);
    counts.set(identity, (counts.get(identity) ?? 0) + 1);
  }
  return counts;
}

export function findRepeated(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}
