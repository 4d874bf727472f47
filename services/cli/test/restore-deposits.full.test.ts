import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from 'kysely';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import { createRestoredBooks, type RestoredBooks } from './restored-books.ts';
import { CHAIN, createWorldOfBooks, HOT_WALLET, USDT, type WorldOfBooks } from './world-of-books.ts';

/*
 * A database that was brought back to what it was before deposit addresses were swept: what they paid since, and the fees that were
 * brought, are found on the chain and booked once. Keys of addresses are those of devnet accounts; a scanner's and a tracker's
 * part is written by hand.
 */

const COLD = devAccount(9).address.toLowerCase();
const STRANGER = devAccount(5).address.toLowerCase();
const GAS = 10n ** 16n;

let world: WorldOfBooks;
let books: RestoredBooks;
/** Deposit addresses, by what happened there since the backup. */
const accounts = {
  swept: devAccount(7),
  toHot: devAccount(2),
  brought: devAccount(3),
  stolen: devAccount(4),
};
/** The last fee, which a scanner that does not know of it takes for a deposit. */
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

/** What scanner and tracker make of everything that is the gateway's own and has no fate yet. */
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
  world = await createWorldOfBooks();
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
  // What no database knows: fees, sweeps, and a thief.
  const hot = devAccount(6);
  for (const name of ['swept', 'toHot', 'brought'] as const)
    brought = await world.sendCoin(accounts[name].address, GAS, hot);
  await world.pay(COLD, 100n * USDT, 'USDT', accounts.swept);
  const refill = await world.pay(HOT_WALLET, 60n * USDT, 'USDT', accounts.toHot);
  await world.pay(STRANGER, 100n * USDT, 'USDT', accounts.stolen);
  // A tracker that knows nothing of the sweep takes it for the operator's.
  const id = await world.seen(HOT_WALLET, refill, 60n * USDT);
  await sql`select settle_hot_wallet_deposits(${JSON.stringify([{ transferId: id, version: 1 }])}::jsonb)`.execute(
    world.db,
  );
}, 90_000);
afterAll(async () => {
  await world.close();
  books.close();
});

it('holds what sweeps, beside the hot wallets', async () => {
  const { rows } = await sql<{ name: string }>`
    select name from signer.lease where expires_at > now() + interval '1 year'
      and name like ${`%/${CHAIN}%`} order by name`.execute(world.db);
  expect(rows.map(({ name }) => name)).toEqual([`sweeps/${CHAIN}`, `wallet/${CHAIN}/${HOT_WALLET}`]);
});

it('waits for the scanner', async () => {
  const { code, out } = await opentill('restore reconcile');
  expect(code).not.toBe(0);
  expect(out).toContain('the scanner, which has verified no block');
  expect(await movements()).toEqual([]);
});

it('waits until all that came before the restore is read and booked, and releases nothing before', async () => {
  // A scanner that has only begun to catch up, although it is behind the block of the backup.
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
  expect(unbooked.out).toContain('the tracker to book 1 transfers that are verified');
  expect(await movements()).toEqual([]);
  await world.booked(id, { ...order, symbol: 'tBNB' }, GAS, false);
});

it('takes nobody’s word for cold storage but that of sweeps before, and the operator’s', async () => {
  const { out } = await opentill('restore reconcile');
  expect(out).toContain(`note: `);
  expect(out).toContain(
    `to ${COLD}, where no sweep of the backup went; if that is cold storage, say --cold ${COLD}`,
  );
  expect(await movements()).toEqual(['3 GAS_TOP_UP RESERVED of ABANDONED', '1 SWEEP RESERVED of DONE']);
});

it('finds what addresses paid, and their fees, and books each once', async () => {
  const { code, out, errors } = await opentill(`restore reconcile --cold ${COLD}`);
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  expect(out).toContain('1 movements recognised');
  // The thief is no sweep, whoever asks.
  expect(out).toContain(`to ${STRANGER}, where no sweep of the backup went`);
  const again = await opentill(`restore reconcile --cold ${COLD}`);
  expect(again.out).not.toContain('recognised');
  await settle();
  expect(await movements()).toEqual(['3 GAS_TOP_UP PAID_OUT of ABANDONED', '2 SWEEP PAID_OUT of DONE']);
  expect(await balance('COLD')).toBe(100n * USDT);
  // 60 came back to the hot wallet as a sweep, and not as the operator's as well.
  expect(await balance('HOT_AVAILABLE')).toBe(60n * USDT);
  expect(await balance('OWNER')).toBe(0n);
  expect(await balance('DEPOSIT')).toBe(240n * USDT); // by the books; of it the thief has 100
  expect(await balance('DEPOSIT_GAS', 'tBNB')).toBe(3n * GAS);
  // What was taken for a deposit is none any more: the tracker takes it back.
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

it('lets sweeps go on with the wallets', async () => {
  const released = await opentill('restore release --reason looked');
  expect(released).toMatchObject({ code: 0, out: expect.stringContaining('1 wallets sign again') });
  const { rows } =
    await sql`select from signer.lease where expires_at > now() and name like ${`%/${CHAIN}%`}`.execute(
      world.db,
    );
  expect(rows).toEqual([]);
});
