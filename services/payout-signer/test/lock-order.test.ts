import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { keepLease, type Lease } from '@opentill/db/lease';
import { baseUnits } from '@opentill/domain/money';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { seededRandom } from '@opentill/testkit/seeded-random';
import type { OrderRow } from '@opentill/testkit/scenario';
import type { PayoutStore, SignedAttempt } from '../src/payout-store.ts';
import { createPayoutStore } from '../src/store.ts';
import { CHAIN, createStillWorld, USDT, type StillWorld } from './still-world.ts';

/*
 * Signer and tracker change the same payouts at the same time, many in one statement, in whatever order each was told of
 * them: whoever locks several locks them in the order of their keys, and one clock, the database's, says whose time is over.
 */

const ROUNDS = 8;
const AT_ONCE = 10;

let world: StillWorld;
let tracker: Database;
let signer: Database;
let lease: Lease;
let store: PayoutStore;
const random = seededRandom(5);
beforeAll(async () => {
  world = await createStillWorld();
  [tracker, signer] = [world.open('tracker'), world.open('signer')];
  const db = signer.kysely;
  store = createPayoutStore(db, { chain: CHAIN, wallet: world.wallet }, { newId, clock: systemClock });
  const holder = { db, schema: 'signer', name: 'wallet/lock-order', holder: 'test', ttlMs: 600_000 } as const;
  lease = (await keepLease(holder).acquire())!;
});
afterAll(async () => {
  await Promise.all([tracker.close(), signer.close()]);
  await world.close();
});

const shuffled = <T>(all: readonly T[]): T[] =>
  all
    .map((one) => [random(), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
const keys = (orders: readonly OrderRow[]) => shuffled(orders).map(({ order_pk: orderPk }) => orderPk);

/** Payouts that are authorised, and whose time ends soon. */
async function authorisedNow(): Promise<OrderRow[]> {
  const orders = await Promise.all(
    Array.from({ length: AT_ONCE }, () =>
      world.payout({ expires_at: new Date(Date.now() + 300 + Math.floor(random() * 60)) }),
    ),
  );
  await sql`update payout set state = 'AUTHORISED', authorised_at = clock_timestamp()
    where order_pk = any(${keys(orders)}::uuid[])`.execute(world.admin);
  return orders;
}

let nonces = 0;
async function signed(orders: readonly OrderRow[]): Promise<SignedAttempt[]> {
  const terms = { gasLimit: 60_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };
  return Promise.all(
    orders.map(async ({ order_pk: orderPk, address, amount }) => {
      const intent = { contract: USDT, to: address as never, amountBaseUnits: baseUnits(amount) };
      nonces += 1;
      const raw = await world.sender.sign({ from: world.wallet, ...intent }, nonces, terms);
      return { purpose: 'PAYOUT' as const, orderPk, ...intent, signed: raw };
    }),
  );
}

const expire = (orders: readonly OrderRow[]) =>
  sql<{
    order_pk: string;
  }>`select expire_payouts as order_pk from expire_payouts(${keys(orders)}::uuid[])`.execute(tracker.kysely);
const book = (orders: readonly OrderRow[]) =>
  sql`select settle_payout_money(${keys(orders)}::uuid[])`.execute(tracker.kysely);

/** Signs as long as some have time left, as the signer does: those that ended meanwhile are left out. */
async function signUntilNoneIsLeft(attempts: readonly SignedAttempt[]): Promise<ReadonlySet<string>> {
  let left = shuffled(attempts);
  while (left.length > 0) {
    const outcome = await store.saveSigned(lease, left, () => []);
    if (outcome.kind === 'SAVED') return new Set(left.map(({ orderPk }) => orderPk ?? ''));
    if (outcome.kind === 'STALE') throw new Error('nobody else signs');
    left = shuffled(left.filter(({ orderPk }) => !outcome.orderPks.includes(orderPk ?? '')));
  }
  return new Set();
}

test('signing, noting why not, expiring and booking the same payouts at once: nobody waits in a circle, each ends one way', async () => {
  const counts = { signed: 0, expired: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const orders = await authorisedNow();
    const attempts = await signed(orders);
    const obstacles = keys(orders)
      .slice(0, 3)
      .map((orderPk) => ({ orderPk, obstacle: 'NO_GAS' as const }));
    const ends = orders.map(({ expires_at: end }) => end.getTime());
    const startAt = Math.min(...ends) - 25 + random() * 60;
    while (Date.now() < startAt) await new Promise((resolve) => setTimeout(resolve, 1));
    const [saved] = await Promise.all([
      signUntilNoneIsLeft(attempts),
      store.saveObstacles(lease, obstacles),
      expire(orders),
      expire(orders),
      book(orders),
    ]);
    const isOver = async () => {
      await Promise.all([expire(orders), book(orders)]);
      const { rows } = await sql<{ order_pk: string; state: string; signed: boolean; held: boolean }>`
        select order_pk, state, exists (select from own_transaction t where t.order_pk = p.order_pk) as signed,
          exists (select from wallet_nonce n where n.order_pk = p.order_pk and n.state = 'SIGNED') as held
        from payout p where order_pk = any(${keys(orders)}::uuid[])`.execute(world.admin);
      return rows;
    };
    while (Date.now() <= Math.max(...ends)) await new Promise((resolve) => setTimeout(resolve, 5));
    for (const row of await isOver()) {
      const isSaved = saved.has(row.order_pk);
      expect(row).toEqual({
        order_pk: row.order_pk,
        state: isSaved ? 'SIGNED' : 'EXPIRED',
        signed: isSaved,
        held: isSaved,
      });
      counts[isSaved ? 'signed' : 'expired'] += 1;
    }
    await world.settle();
  }
  expect(counts.signed).toBeGreaterThan(0);
  expect(counts.expired).toBeGreaterThan(0);
}, 60_000);

test('control: one that locks them in another order is found to wait in a circle', async () => {
  const orders = await authorisedNow();
  const ascending = keys(orders).toSorted();
  const lockOneByOne = (orderPks: readonly string[], pauseMs: number) =>
    world.admin.transaction().execute(async (tx) => {
      for (const orderPk of orderPks) {
        await sql`select from payout where order_pk = ${orderPk} for update`.execute(tx);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    });
  const outcomes = await Promise.allSettled([
    lockOneByOne(ascending.toReversed(), 10),
    lockOneByOne(ascending, 10),
  ]);
  const failed = outcomes.flatMap((one) =>
    one.status === 'rejected' ? [one.reason as { code?: string }] : [],
  );
  expect(JSON.stringify(failed.map(({ code }) => code))).toMatch(/40P01|DEADLOCK|DATABASE/);
});
