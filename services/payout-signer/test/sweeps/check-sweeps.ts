import { sql } from 'kysely';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import { CHAIN } from '../nonce/signer-world.ts';
import { COLD, type SweepWorld } from './sweep-world.ts';

interface AddressRow {
  readonly address: string;
  readonly received: bigint;
  readonly swept: bigint;
  readonly sweeps: number;
  readonly failed: number;
  readonly cancels: number;
  readonly topUps: number;
  readonly brought: bigint;
  readonly fees: bigint;
  /** Highest number of fee top-ups of one sweep. */
  readonly most: number;
}

/**
 * Each address is empty after as many transactions as sweeps arrived or failed; each sweep had at most one fee top-up;
 * the coin left equals top-ups minus network fees; and the hot wallet spent no other coin.
 */
export async function findSweepProblems(
  world: SweepWorld,
  orders: readonly Pick<OrderRow, 'address'>[],
): Promise<readonly string[]> {
  const { admin, signer } = world;
  const problems: string[] = [];
  const count = async (address: string) =>
    Number(await callRpc<string>(signer.rpcUrl, 'eth_getTransactionCount', [address, 'latest']));
  const must = (isSo: boolean, problem: string) => void (isSo || problems.push(problem));
  let coins = 0n;
  let all = 0n;
  const rows = await readAddresses(world);
  for (const { address } of orders) {
    const row = rows.get(address);
    if (row === undefined) {
      problems.push(`${address} never received anything`);
      continue;
    }
    const [tokens, coin, sent] = await Promise.all([
      world.tokensAt(address),
      world.coinAt(address),
      count(address),
    ]);
    must(tokens === 0n, `${address} holds ${tokens}`);
    must(row.received === row.swept, `${address}: ${row.received} came, ${row.swept} are booked as swept`);
    const { sweeps, failed, topUps } = row;
    must(
      sent === sweeps + failed,
      `${address} sent ${sent} transactions for ${sweeps} sweeps, ${failed} failed`,
    );
    must(row.cancels === 0, `${address} sent ${row.cancels} transactions that move nothing`);
    must(row.most <= 1, `${address}: the fee of one sweep was brought ${row.most} times`);
    must(topUps <= sweeps + failed, `${address}: ${topUps} fees were brought for ${sweeps + failed} sweeps`);
    must(
      coin === row.brought - row.fees,
      `${address} holds ${coin} wei; ${row.brought} came, ${row.fees} were paid`,
    );
    coins += coin;
    all += row.received;
  }
  const atCold = await world.tokensAt(COLD);
  must(atCold === all, `cold storage holds ${atCold} of ${all}`);
  const booked = await world.balance('COLD');
  must(booked === all, `cold storage is booked with ${booked} of ${all}`);
  for (const kind of ['DEPOSIT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT'])
    must((await world.balance(kind)) === 0n, `${kind} is ${await world.balance(kind)}`);
  const gas = await world.balance('DEPOSIT_GAS', 'ETH');
  must(gas === coins, `addresses hold ${coins} wei, ${gas} are booked`);
  for (const symbol of ['USDT', 'ETH']) {
    const { rows: sums } = await sql<{ sum: bigint }>`
      select coalesce(sum(balance), 0) as sum from ledger_account where chain = ${CHAIN} and symbol = ${symbol}`.execute(
      admin,
    );
    must(sums[0]?.sum === 0n, `all accounts of ${symbol} sum to ${sums[0]?.sum}`);
  }
  const topUps = [...rows.values()].reduce((sum, row) => sum + row.topUps, 0);
  const byHot = await count(signer.wallet);
  const { rows: others } = await sql<{ n: number }>`
    select count(*)::int as n from wallet_nonce where chain = ${CHAIN} and wallet = ${signer.wallet}
      and purpose = 'CANCEL' and state = 'FINAL'`.execute(admin);
  must(
    byHot === topUps + (others[0]?.n ?? 0),
    `the hot wallet sent ${byHot} transactions for ${topUps} fees and ${others[0]?.n} gaps`,
  );
  return problems;
}

async function readAddresses({ admin }: SweepWorld): Promise<ReadonlyMap<string, AddressRow>> {
  const { rows } = await sql<AddressRow>`
    with moved as (
      select s.address, s.sweep_id, m.kind, o.amount from sweep s join movement m using (sweep_id) join payout p using (order_pk)
        join orders o using (order_pk)
      where p.money = 'PAID_OUT'
    ), fee as (
      select t.wallet, sum(f.network_fee) as paid from own_transaction t join own_transaction_fate f using (chain, tx_hash)
      where f.state = 'VERIFIED' group by 1
    ), sent as (
      select t.wallet, t.purpose, f.delivered from own_transaction t join own_transaction_fate f using (chain, tx_hash)
      where f.state = 'VERIFIED'
    )
    select b.address, b.received, b.swept, coalesce(f.paid, 0) as fees,
      (select count(*)::int from sent t where t.wallet = b.address and t.purpose = 'PAYOUT' and t.delivered = 0) as failed,
      (select count(*)::int from sent t where t.wallet = b.address and t.purpose = 'CANCEL') as cancels,
      (select count(*)::int from moved m where m.address = b.address and m.kind = 'SWEEP') as sweeps,
      (select count(*)::int from moved m where m.address = b.address and m.kind = 'GAS_TOP_UP') as "topUps",
      (select coalesce(sum(m.amount), 0) from moved m where m.address = b.address and m.kind = 'GAS_TOP_UP') as brought,
      coalesce((select max(n)::int from (select count(*) as n from moved m where m.address = b.address and m.kind = 'GAS_TOP_UP'
        group by m.sweep_id) each), 0) as most
    from deposit_balance b left join fee f on f.wallet = b.address`.execute(admin);
  return new Map(rows.map((row) => [row.address, row]));
}
