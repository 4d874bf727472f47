import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from 'kysely';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import { createRestoredBooks, type RestoredBooks } from './restored-ledger.ts';
import {
  CHAIN,
  createReconcileWorld,
  HOT_WALLET,
  USDT,
  type WorldOfBooks,
} from './create-reconcile-world.ts';

// A database is restored to its state before deposit addresses were swept. Their payments since, and the fees sent to
// them, are found on the chain and booked once. The test plays scanner and tracker.

const COLD = devAccount(9).address.toLowerCase();
const STRANGER = devAccount(5).address.toLowerCase();
const GAS = 10n ** 16n;

let world: WorldOfBooks;
let books: RestoredBooks;
const accounts = {
  swept: devAccount(7),
  toHot: devAccount(2),
  brought: devAccount(3),
  stolen: devAccount(4),
};
/** A scanner that does not know this fee top-up records it as a deposit. */
let brought: Awaited<ReturnType<WorldOfBooks['sendCoin']>>;
const orders: Partial<Record<keyof typeof accounts, OrderRow>> = {};

const opentill = (line: string) => books.opentill(...line.split(' '));

const balance = async (kind: string, symbol = 'USDT') => {
  const { rows } = await sql<{ balance: bigint }>`
    select coalesce(sum(balance), 0) as balance from ledger_account where kind = ${kind} and symbol = ${symbol}`.execute(
    world.db,
  );
  return rows[0]?.balance;
};

/** What scanner and tracker record for own transactions without an outcome. */
async function settle(): Promise<void> {
  const { rows } = await sql<{ tx_hash: string; amount: bigint; order_pk: string }>`
    select t.tx_hash, t.amount, t.order_pk from own_transaction t where not exists (
      select from own_transaction_fate f where f.chain = t.chain and f.tx_hash = t.tx_hash)`.execute(
    world.db,
  );
  for (const { tx_hash: txHash, amount, order_pk: orderPk } of rows) {
    await sql`insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded, delivered, network_fee)
      values (${CHAIN}, ${txHash}, 'EVM', 1, ${world.aHash()}, now(), 'VERIFIED', true, ${amount}, 1)`.execute(
      world.db,
    );
    await sql`select settle_payout_money(array[${orderPk}::uuid])`.execute(world.db);
  }
}

const movements = async () => {
  const { rows } = await sql<{ kind: string; money: string; state: string; n: number }>`
    select m.kind, p.money, s.state, count(*)::int as n from movement m join payout p using (order_pk) left join sweep s using (sweep_id)
    group by 1, 2, 3 order by 1, 2, 3`.execute(world.db);
  return rows.map(({ kind, money, state, n }) => `${n} ${kind} ${money} of ${state}`);
};

beforeAll(async () => {
  world = await createReconcileWorld();
  books = await createRestoredBooks(world.server, world.db, world.networks());
  await sql`insert into chain_family (chain, family) values (${CHAIN}, 'EVM') on conflict do nothing`.execute(
    world.db,
  );
  await sql`select book_gas_top_up(${`${CHAIN}:gas:tBNB`}, ${CHAIN}, 'tBNB', ${10n * GAS})`.execute(world.db);
  await world.sendCoin(HOT_WALLET, 10n * GAS);
  for (const [name, { address }] of Object.entries(accounts)) {
    const order = await world.order(address);
    const id = await world.seen(address, await world.pay(address, 100n * USDT), 100n * USDT);
    await world.booked(id, order, 100n * USDT, true);
    orders[name as keyof typeof accounts] = order;
  }
  await world.verified();
  await books.restore();
  // Not in any database: fee top-ups, sweeps, and a theft.
  const hot = devAccount(6);
  for (const name of ['swept', 'toHot', 'brought'] as const)
    brought = await world.sendCoin(accounts[name].address, GAS, hot);
  await world.pay(COLD, 100n * USDT, 'USDT', accounts.swept);
  const refill = await world.pay(HOT_WALLET, 60n * USDT, 'USDT', accounts.toHot);
  await world.pay(STRANGER, 100n * USDT, 'USDT', accounts.stolen);
  // A tracker that does not know the sweep books it as an operator's top-up.
  const id = await world.seen(HOT_WALLET, refill, 60n * USDT);
  await sql`select settle_hot_wallet_deposits(${JSON.stringify([{ transferId: id, version: 1 }])}::jsonb)`.execute(
    world.db,
  );
});
afterAll(async () => {
  await world.close();
  books.close();
});

it('holds sweeps in addition to the hot wallets', async () => {
  const { rows } = await sql<{ name: string }>`
    select name from signer.lease where expires_at > now() + interval '1 year'
      and name like ${`%/${CHAIN}%`} order by name`.execute(world.db);
  expect(rows.map(({ name }) => name)).toEqual([`sweeps/${CHAIN}`, `wallet/${CHAIN}/${HOT_WALLET}`]);
});

it('books no movement before the scanner has verified a block', async () => {
  const { code, out } = await opentill('restore reconcile');
  expect(code).not.toBe(0);
  expect(out).toContain('the scanner, which has verified no block');
  expect(await movements()).toEqual([]);
});

it('releases no wallet before all blocks up to the restore are read and booked', async () => {
  // The scanner catches up but is still below the block of the backup.
  await world.verified();
  await sql`update chain_cursor set verified_time = (select restored_at - interval '1 second' from restoration)
    where chain = ${CHAIN}`.execute(world.db);
  const early = await opentill(`restore release --cold ${COLD} --reason looked`);
  expect(early).toMatchObject({ code: 75, errors: expect.stringContaining('No wallet was released') });
  expect(early.out).toMatch(
    /the scanner, which has verified blocks up to \S+, to reach the time of the restore/,
  );
  expect(await movements()).toEqual([]);

  await callRpc(world.rpcUrl, 'evm_increaseTime', [10]);
  const order = orders.brought!;
  const { txHash, ...at } = brought;
  const id = await world.seen(order.address, { txHash, ...at }, GAS, 'tBNB');
  await world.verified();
  const unbooked = await opentill(`restore release --cold ${COLD} --reason looked`);
  expect(unbooked.code).toBe(75);
  expect(unbooked.out).toContain('the tracker to book 1 verified transfers');
  expect(await movements()).toEqual([]);
  await world.booked(id, { ...order, symbol: 'tBNB' }, GAS, false);
});

it('accepts cold storage only from sweeps of the backup and the operator', async () => {
  const { out } = await opentill('restore reconcile');
  expect(out).toContain(`note: `);
  expect(out).toContain(
    `to ${COLD}, which no sweep in the backup names; if it is cold storage, add --cold ${COLD}`,
  );
  expect(await movements()).toEqual(['3 GAS_TOP_UP RESERVED of ABANDONED', '1 SWEEP RESERVED of DONE']);
});

it('finds payments and fees of deposit addresses and books each once', async () => {
  const { code, out, errors } = await opentill(`restore reconcile --cold ${COLD}`);
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  expect(out).toContain('1 movements recognised');
  expect(out).toContain(`to ${STRANGER}, which no sweep in the backup names`);
  const again = await opentill(`restore reconcile --cold ${COLD}`);
  expect(again.out).not.toContain('recognised');
  await settle();
  expect(await movements()).toEqual(['3 GAS_TOP_UP PAID_OUT of ABANDONED', '2 SWEEP PAID_OUT of DONE']);
  expect(await balance('COLD')).toBe(100n * USDT);
  // 60 returned to the hot wallet as a sweep and are no top-up too.
  expect(await balance('HOT_AVAILABLE')).toBe(60n * USDT);
  expect(await balance('OWNER')).toBe(0n);
  expect(await balance('DEPOSIT')).toBe(240n * USDT); // in the ledger; 100 of it were stolen
  expect(await balance('DEPOSIT_GAS', 'tBNB')).toBe(3n * GAS);
  // The transfer is no longer a deposit: the tracker reverses it.
  const { rows: mistaken } = await sql<{ state: string; version: number }>`
    select state, version from transfer where tx_hash = ${brought.txHash}`.execute(world.db);
  expect(mistaken).toEqual([{ state: 'ORPHANED', version: 2 }]);
  const { rows } = await sql<{ address: string; free: bigint }>`
    select address, received - swept - reserved as free from deposit_balance where symbol = 'USDT'`.execute(
    world.db,
  );
  const left = Object.fromEntries(rows.map(({ address, free }) => [address, free]));
  const of = (name: keyof typeof accounts) => left[accounts[name].address.toLowerCase()];
  expect([of('swept'), of('toHot'), of('brought')]).toEqual([0n, 40n * USDT, 100n * USDT]);
  const { rows: nonces } = await sql<{ n: number }>`
    select count(*)::int as n from wallet_nonce where state = 'SIGNED'`.execute(world.db);
  expect(nonces[0]?.n).toBe(5);
});

it('resumes sweeps together with the wallets', async () => {
  const released = await opentill('restore release --reason looked');
  expect(released).toMatchObject({ code: 0, out: expect.stringContaining('1 wallets sign again') });
  const { rows } =
    await sql`select from signer.lease where expires_at > now() and name like ${`%/${CHAIN}%`}`.execute(
      world.db,
    );
  expect(rows).toEqual([]);
});
