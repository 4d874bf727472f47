import { findRepeated } from './find-order-problems.ts';
import type { ChaosFacts } from './facts.ts';

export function findBookProblems(facts: ChaosFacts): string[] {
  return [
    ...findSumProblems(facts),
    ...findBalanceProblems(facts),
    ...findRepeated(facts.tables.ledger.map(({ ref }) => ref)).map((ref) => `the ledger has ${ref} twice`),
    ...Object.entries(facts.tables.leftovers)
      .filter(([, count]) => count !== 0)
      .map(([name, count]) => `${count} left over: ${name}`),
  ];
}

function findSumProblems({ tables }: ChaosFacts): string[] {
  const problems: string[] = [];
  const accounts = new Map(tables.accounts.map((account) => [account.accountId, account]));
  const posted = new Map<number, bigint>();
  for (const { ref, postings } of tables.ledger) {
    const sums = new Map<string, bigint>();
    for (const { accountId, amount } of postings) {
      posted.set(accountId, (posted.get(accountId) ?? 0n) + amount);
      const account = accounts.get(accountId);
      add(sums, `${account?.chain} ${account?.symbol}`, amount);
    }
    if (postings.length < 2) problems.push(`ledger transaction ${ref} has ${postings.length} postings`);
    for (const [asset, total] of sums)
      if (total !== 0n) problems.push(`ledger transaction ${ref} sums to ${total} of ${asset}`);
  }
  for (const { accountId, kind, chain, symbol, balance } of tables.accounts) {
    const made = posted.get(accountId) ?? 0n;
    if (balance !== made)
      problems.push(`${kind} ${chain} ${symbol} has a balance of ${balance}, its postings sum to ${made}`);
  }
  return problems;
}

/** DEPOSIT is the balance of the deposit addresses, MERCHANT the credit of SUCCESS orders, SUSPENSE the difference. */
function findBalanceProblems({ tables, transfers, balances, terms }: ChaosFacts): string[] {
  const deposited = new Map<string, bigint>();
  for (const { chain, symbol, amount } of transfers) add(deposited, `${chain} ${symbol}`, amount);
  const credited = new Map<string, bigint>();
  const termsById = new Map(terms.map((one) => [one.orderId, one]));
  for (const { orderId, status, actualAmount } of tables.orders) {
    const one = termsById.get(orderId);
    if (one !== undefined && status === 'SUCCESS')
      add(credited, `${one.chain} ${one.symbol}`, actualAmount ?? 0n);
  }
  return [...balances].flatMap(([asset, onChain]) => {
    const [paid, earned] = [deposited.get(asset) ?? 0n, credited.get(asset) ?? 0n];
    const expected = { DEPOSIT: onChain, MERCHANT: -earned, SUSPENSE: earned - paid };
    const problems =
      paid === onChain ? [] : [`${asset}: the addresses hold ${onChain}, the logs sum to ${paid}`];
    for (const [kind, should] of Object.entries(expected)) {
      const is = tables.accounts
        .filter((account) => account.kind === kind && `${account.chain} ${account.symbol}` === asset)
        .reduce((total, { balance }) => total + balance, 0n);
      if (is !== should) problems.push(`${kind} ${asset} has ${is}, must have ${should}`);
    }
    return problems;
  });
}

function add(sums: Map<string, bigint>, key: string, amount: bigint): void {
  sums.set(key, (sums.get(key) ?? 0n) + amount);
}

export function summarise({
  terms,
  payouts,
  hotWallet,
  transfers,
  arrivals,
  tables,
  takenBack,
  senderFaults,
}: ChaosFacts): string {
  const statuses = new Map<string, bigint>();
  for (const { status } of tables.orders) add(statuses, status, 1n);
  const orphaned = tables.transfers.filter((row) => row.state === 'ORPHANED').length;
  const nonces = new Set(arrivals.map(({ nonce }) => nonce)).size;
  const superseded = tables.notifications.filter((row) => row.deliveryState === 'SUPERSEDED').length;
  return [
    `${terms.length} orders: ${[...statuses].map(([status, count]) => `${count} ${status}`).join(', ')}`,
    `${payouts.length} payouts, ${hotWallet.sent.length} paid, ${tables.nonces.length} nonces`,
    `${transfers.length} transfers, ${takenBack.size} transactions taken back, ${orphaned} rows orphaned`,
    `${arrivals.length} callbacks of ${nonces} events (${superseded} superseded; ${tables.notifications.reduce((sum, row) => sum + row.attemptsRecorded, 0)} attempts recorded, ${senderFaults} faults of senders)`,
    `${tables.ledger.length} ledger transactions`,
  ].join('; ');
}
