import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { familyOf, type Chain } from '@opentill/domain/chains';
import { firstArrivals, type ReceivedCallback } from './callback-receiver.ts';

// Invariants of a gateway at rest. Each function returns one line per problem. `db` has the rights of the owner.

export interface BookedChain {
  readonly chain: string;
  coins(holder: string): Promise<bigint>;
  balance(symbol: string, holder: string): Promise<bigint>;
}

export interface HotWallets {
  readonly evmHotWallet: string;
  readonly tronHotWallet: string;
  readonly suiHotWallet: string;
}

export async function findLedgerProblems(db: Db): Promise<string[]> {
  const { rows } = await sql<{ problem: string }>`
    with account as (
      select a.*, coalesce((select sum(amount) from ledger_posting p where p.account_id = a.account_id), 0) as posted
      from ledger_account a
    ), booked as (
      select t.chain, t.symbol, d.merchant_id, s.credited, sum(t.amount) as amount
      from transfer_settlement s join transfer t using (transfer_id)
        join (select order_pk, merchant_id from orders) d on d.order_pk = s.order_pk
      where s.booked group by 1, 2, 3, 4
    ), credited as (
      select o.order_id, o.actual_amount, coalesce(sum(
          order_worth(coalesce(d.worth, t.amount), case when d.worth is null then x.amount when o.choices > 0 then o.amount end)), 0) as amount
      from orders o left join transfer_settlement s on s.order_pk = o.order_pk and s.credited
        left join transfer t using (transfer_id)
        left join order_option x on x.order_pk = o.order_pk and x.chain = t.chain
          and x.contract_address is not distinct from t.contract_address
        left join order_decision d on d.transfer_id = t.transfer_id and d.outcome = 'DONE' -- an operator valued another token
      where o.status = 'SUCCESS' and o.order_type = 'COLLECTION' group by o.order_pk
    ), moved as (
      select p.chain, o.symbol, sum(o.amount) as amount from movement m join payout p using (order_pk) join orders o using (order_pk)
      where m.kind = 'SWEEP' and p.money in ('RESERVED', 'IN_FLIGHT', 'PAID_OUT') group by 1, 2
    )
    select format('transaction %s does not sum to zero', t.ref) as problem
      from ledger_transaction t join ledger_posting p using (ledger_tx_id) join ledger_account a using (account_id)
      group by t.ledger_tx_id, a.chain, a.symbol having sum(p.amount) <> 0
    union all select format('the balance of %s %s %s is %s, its postings sum to %s', kind, chain, symbol, balance, posted)
      from account where balance <> posted
    union all select format('%s on %s sums to %s', symbol, chain, sum(balance))
      from account group by chain, symbol having sum(balance) <> 0
    union all select format('order %s is SUCCESS with %s, credited are %s', order_id, actual_amount, amount)
      from credited where actual_amount is distinct from amount
    union all select format('transfer %s is %s, booked: %s', t.transfer_id, t.state, coalesce(s.booked, false))
      from transfer t left join transfer_settlement s using (transfer_id)
      where (t.state = 'VERIFIED') is distinct from coalesce(s.booked, false)
    union all select format('%s %s: the ledger has %s, booked transfers sum to %s', chain, symbol, sum(ledger), sum(transfers))
      from (
        select chain, symbol, balance as ledger, 0 as transfers from account where kind = 'DEPOSIT'
        union all select chain, symbol, 0, amount from booked
        union all select chain, symbol, 0, -amount from moved
      ) d group by chain, symbol having sum(ledger) <> sum(transfers)
    union all select format('%s of %s, %s %s: the ledger has %s, transfers sum to %s', kind, merchant_id, chain, symbol, sum(ledger), sum(transfers))
      from (
        select kind, merchant_id, chain, symbol, -balance as ledger, 0 as transfers
          from account where kind in ('MERCHANT', 'SUSPENSE')
        union all select case when credited then 'MERCHANT' else 'SUSPENSE' end, merchant_id, chain, symbol, 0, amount from booked
      ) m group by kind, merchant_id, chain, symbol having sum(ledger) <> sum(transfers)`.execute(db);
  return rows.map((row) => row.problem);
}

/** Checks that the balance of all deposit addresses equals the DEPOSIT account, to the base unit. */
export async function findChainProblems(db: Db, chains: readonly BookedChain[]): Promise<string[]> {
  const problems: string[] = [];
  const addresses = await db.selectFrom('deposit_address').select(['family', 'address']).execute();
  const booked = await db
    .selectFrom('ledger_account')
    .select(['chain', 'symbol', 'balance'])
    .where('kind', '=', 'DEPOSIT')
    .execute();
  for (const chain of chains) {
    const holders = addresses.filter(({ family }) => family === familyOf(chain.chain as Chain));
    for (const symbol of ['USDT', 'USDC']) {
      const balances = await Promise.all(holders.map(async ({ address }) => chain.balance(symbol, address)));
      const onChain = balances.reduce((sum, balance) => sum + balance, 0n);
      const account = booked.find((one) => one.chain === chain.chain && one.symbol === symbol);
      const inLedger = account?.balance ?? 0n;
      if (onChain !== inLedger)
        problems.push(`${chain.chain} ${symbol}: ${onChain} on chain, ${inLedger} in the ledger`);
    }
  }
  return problems;
}

export async function findPayoutProblems(
  db: Db,
  chains: readonly BookedChain[],
  { evmHotWallet, tronHotWallet, suiHotWallet }: HotWallets,
): Promise<string[]> {
  const { rows } = await sql<{ problem: string }>`
    with landed as (
      select t.order_pk, count(*) as times, sum(f.delivered) as delivered
      from own_transaction t join own_transaction_fate f using (chain, tx_hash)
      where f.state = 'VERIFIED' and f.succeeded and f.delivered > 0 and t.order_pk is not null group by 1
    )
    select format('payout %s landed %s times', o.order_id, times) as problem
      from landed join orders o using (order_pk) where times <> 1
    union all select format('payout %s is %s with %s, and delivered %s', o.order_id, o.status, o.actual_amount, l.delivered)
      from orders o join payout p using (order_pk) left join landed l using (order_pk)
      where case when o.status = 'SUCCESS' then o.actual_amount is distinct from l.delivered or p.money <> 'PAID_OUT'
        when o.status = 'FAILED' then l.order_pk is not null or p.money not in ('RELEASED', 'RETURNED') else true end
    union all select format('nonces of %s on %s: %s of %s', wallet, chain, count(*), max(nonce) + 1)
      from wallet_nonce where state in ('SIGNED', 'FINAL', 'TAKEN') group by wallet, chain having count(*) <> max(nonce) + 1`.execute(
    db,
  );
  const problems = rows.map((row) => row.problem);
  const accounts = await db
    .selectFrom('ledger_account')
    .select(({ fn }) => ['chain', 'symbol', fn.sum<bigint>('balance').as('balance')])
    .where('kind', 'in', ['HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'HOT_GAS'])
    .groupBy(['chain', 'symbol'])
    .execute();
  for (const { chain, symbol, balance } of accounts) {
    const there = chains.find((one) => one.chain === chain);
    const hotWallet = { EVM: evmHotWallet, TRON: tronHotWallet, SUI: suiHotWallet }[familyOf(chain as Chain)];
    const onChain = await (symbol.startsWith('USD')
      ? there?.balance(symbol, hotWallet)
      : there?.coins(hotWallet));
    if (onChain !== balance)
      problems.push(`hot wallet, ${chain} ${symbol}: ${onChain} on chain, ${balance} in the ledger`);
  }
  return problems;
}

export async function findCallbackProblems(db: Db, received: readonly ReceivedCallback[]): Promise<string[]> {
  const problems = received.flatMap(({ nonce, problems: wrong }) => wrong.map((why) => `${nonce}: ${why}`));
  const rows = await db
    .selectFrom('notification as n')
    .innerJoin('orders as o', 'o.order_pk', 'n.subject_id')
    .leftJoin('delivery as d', 'd.event_id', 'n.event_id')
    .leftJoin('movement as m', 'm.order_pk', 'o.order_pk')
    .select([
      'n.event_id',
      'n.sequence',
      'n.notify_type',
      'n.data',
      'd.state',
      'o.order_id',
      'o.status',
      'm.kind as movement',
    ])
    .orderBy('n.subject_id')
    .orderBy('n.sequence')
    .execute();
  const queued = new Map(rows.map((row) => [row.event_id, row]));
  const newest = new Map<string, number>();
  for (const { nonce, data, notifyType } of received) {
    const row = queued.get(nonce);
    const isSame = row?.notify_type === notifyType && row.data === JSON.stringify(data);
    if (row === undefined || !isSame) {
      problems.push(`${nonce} (${notifyType} of ${data.orderId}) equals no notification`);
      continue;
    }
    if (row.sequence < (newest.get(row.order_id) ?? 0))
      problems.push(`${row.order_id}: callback ${row.sequence} arrived after a newer one`);
    newest.set(row.order_id, Math.max(row.sequence, newest.get(row.order_id) ?? 0));
  }
  const arrived = new Set(received.map(({ nonce }) => nonce));
  for (const row of rows) {
    const label = `${row.order_id}: callback ${row.sequence} ${row.notify_type}`;
    if (row.state === 'SUPERSEDED') continue; // after three failed attempts a newer one replaced it
    if (!arrived.has(row.event_id)) problems.push(`${label} never arrived`);
    if (row.state !== 'DELIVERED') problems.push(`${label} is ${row.state ?? 'not queued'}`);
  }
  const successes = countBy(firstArrivals(received).filter((one) => one.notifyType === 'ORDER_SUCCESS'));
  for (const [orderId, times] of successes)
    if (times !== 1) problems.push(`${orderId} became SUCCESS ${times} times`);
  const ended = rows.filter(({ status, movement }) => status === 'SUCCESS' && movement !== 'SWEEP');
  for (const orderId of new Set(ended.map((row) => row.order_id)))
    if (!successes.has(orderId)) problems.push(`${orderId} is SUCCESS without a callback`);
  problems.push(...findUntoldSweeps(rows));
  return problems;
}

/** Each sweep needs one callback when it is sent and one when it ends. */
function findUntoldSweeps(
  rows: readonly {
    readonly order_id: string;
    readonly status: string;
    readonly movement: string | null;
    readonly notify_type: string;
  }[],
): string[] {
  const sweeps = Map.groupBy(
    rows.filter(({ movement }) => movement === 'SWEEP'),
    ({ order_id: orderId }) => orderId,
  );
  return [...sweeps].flatMap(([orderId, callbacks]) => {
    const story = callbacks.map(({ notify_type: type }) => type).join(' ');
    const isRight =
      callbacks[0]?.status === 'SUCCESS'
        ? story === 'COLLECT_PENDING COLLECT_SUCCESS'
        : story.startsWith('COLLECT_PENDING');
    return isRight ? [] : [`${orderId} is ${callbacks[0]?.status}, its callbacks are: ${story}`];
  });
}

function countBy(callbacks: readonly ReceivedCallback[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { data } of callbacks) counts.set(data.orderId, (counts.get(data.orderId) ?? 0) + 1);
  return counts;
}

export async function undeliveredCount(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from notification n
    where not exists (select from delivery d where d.event_id = n.event_id and d.state <> 'PENDING')`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}
