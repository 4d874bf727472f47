import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { Database } from '@opentill/db/database';
import { keepLease, type Lease } from '@opentill/db/lease';
import { GatewayError } from '@opentill/domain/gateway-error';
import { baseUnits } from '@opentill/domain/money';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { anEvmAddress, type OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { PayoutStore, SignedAttempt } from '../../src/nonce/store/payout-store.ts';
import { createPayoutStore } from '../../src/nonce/store/create-store.ts';
import { CHAIN, createStaticChainWorld, USDT, type StaticChainWorld } from './static-chain-world.ts';

// Signers of two wallets and the tracker update the same payouts, many per statement. Each locks rows in key order, and
// the database's clock decides expiry.

const ROUNDS = 3;
const AT_ONCE = 10;

interface Wallet {
  readonly address: Address;
  readonly store: PayoutStore;
  readonly lease: Lease;
  nonce: number;
}

let world: StaticChainWorld;
let tracker: Database;
let signer: Database;
let wallets: readonly [Wallet, Wallet];
const random = seededRandom(5);
beforeAll(async () => {
  world = await createStaticChainWorld();
  [tracker, signer] = [world.open('tracker'), world.open('signer')];
  wallets = [await aWallet(world.wallet, 1), await aWallet(anEvmAddress() as Address, 10_000)];
});
afterAll(async () => {
  await Promise.all([tracker.close(), signer.close()]);
  await world.close();
});

async function aWallet(address: Address, nonce: number): Promise<Wallet> {
  const db = signer.kysely;
  const name = `wallet/lock-order/${address}`;
  const lease = await keepLease({ db, schema: 'signer', name, holder: 'test', ttlMs: 600_000 }).acquire();
  const store = createPayoutStore(db, { chain: CHAIN, wallet: address }, { newId, clock: systemClock });
  return { address, store, lease: lease!, nonce };
}

const shuffled = <T>(all: readonly T[]): T[] =>
  all
    .map((one) => [random(), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
const keys = (orders: readonly OrderRow[]) => shuffled(orders).map(({ order_pk: orderPk }) => orderPk);
const payouts = (wallet: Wallet) =>
  Promise.all(Array.from({ length: AT_ONCE }, () => world.payout({ source_address: wallet.address })));

function signed(wallet: Wallet, orders: readonly OrderRow[]): Promise<SignedAttempt[]> {
  const terms = { gasLimit: 60_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };
  return Promise.all(
    orders.map(async ({ order_pk: orderPk, address, amount }) => {
      const intent = { contract: USDT, to: address as never, amountBaseUnits: baseUnits(amount) };
      wallet.nonce += 1;
      // One key signs for both wallets: no node receives the transactions.
      const raw = await world.sender.sign({ from: world.wallet, ...intent }, wallet.nonce, terms);
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

/** Skips expired payouts, like the signer. */
async function signUntilNoneIsLeft(
  { store, lease }: Wallet,
  attempts: readonly SignedAttempt[],
): Promise<ReadonlySet<string>> {
  let left = shuffled(attempts);
  while (left.length > 0) {
    const outcome = await store.saveSigned(lease, left, () => []);
    if (outcome.kind === 'SAVED') return new Set(left.map(({ orderPk }) => orderPk ?? ''));
    if (outcome.kind === 'STALE') throw new Error('no other signer runs');
    left = shuffled(left.filter(({ orderPk }) => !outcome.orderPks.includes(orderPk ?? '')));
  }
  return new Set();
}

function decisionsOn(orders: readonly OrderRow[]) {
  const orderPks = keys(orders);
  return {
    authorised: orderPks.slice(0, 4),
    needApproval: orderPks.slice(4, 6),
    stillNeedApproval: [],
    heldBack: [],
    refused: orderPks.slice(6, 8).map((orderPk) => ({ orderPk, reason: 'no' })),
    obstacles: orderPks.slice(8).map((orderPk) => ({ orderPk, obstacle: 'NO_GAS' as const })),
  };
}

async function createWork(wallet: Wallet) {
  const [authorised, requested] = await Promise.all([payouts(wallet), payouts(wallet)]);
  return {
    ...wallet,
    authorised,
    requested,
    decisions: decisionsOn(requested),
    attempts: await signed(wallet, authorised),
    obstacles: keys(authorised)
      .slice(0, 3)
      .map((orderPk) => ({ orderPk, obstacle: 'NO_GAS' as const })),
  };
}
type AtWork = Awaited<ReturnType<typeof createWork>>;

async function endSoon(
  orders: readonly OrderRow[],
  authorised: readonly OrderRow[],
  withinMs: number,
): Promise<void> {
  await sql`update payout p set expires_at = clock_timestamp() + e.ms * interval '1 ms',
      state = case when p.order_pk = any(${keys(authorised)}::uuid[]) then 'AUTHORISED' else p.state end,
      authorised_at = case when p.order_pk = any(${keys(authorised)}::uuid[]) then clock_timestamp() end
    from unnest(${keys(orders)}::uuid[], ${orders.map(() => 100 + Math.floor(random() * withinMs))}::int[]) as e (order_pk, ms)
    where p.order_pk = e.order_pk`.execute(world.admin);
}

/** Waits by the database's clock until `fromMs` after the first or last expiry, ignoring suspended ones. */
const isAround = (which: 'min' | 'max', orders: readonly OrderRow[], fromMs: number) =>
  waitUntil(`${which} of their times`, async () => {
    const { rows } = await sql<{ is: boolean }>`
      select coalesce(clock_timestamp() >= ${sql.raw(which)}(expires_at) + ${fromMs} * interval '1 ms', true) as is from payout
      where order_pk = any(${keys(orders)}::uuid[]) and waiting_since is null`.execute(world.admin);
    return rows[0]?.is === true;
  });

interface Ended {
  readonly order_pk: string;
  readonly state: string;
  readonly money: string;
  readonly signed: boolean;
  readonly held: boolean;
  readonly authorised: boolean;
  readonly waits: boolean;
}

async function outcomesOf(orders: readonly OrderRow[]): Promise<readonly Ended[]> {
  await Promise.all([expire(orders), book(orders)]);
  await book(orders);
  const { rows } = await sql<Ended>`
    select order_pk, state, money, exists (select from own_transaction t where t.order_pk = p.order_pk) as signed,
      exists (select from wallet_nonce n where n.order_pk = p.order_pk and n.state = 'SIGNED') as held,
      authorised_at is not null as authorised, waiting_since is not null as waits
    from payout p where order_pk = any(${keys(orders)}::uuid[])`.execute(world.admin);
  return rows;
}

const SIGNED = {
  state: 'SIGNED',
  money: 'RESERVED',
  signed: true,
  held: true,
  authorised: true,
  waits: false,
};
const ENDED = { state: 'EXPIRED', money: 'RELEASED', signed: false, held: false, waits: false };

async function withTracker<T>(orders: readonly OrderRow[], signers: Promise<T>): Promise<T> {
  let isOver = false;
  const tracking = [expire, book, book].map(async (act) => {
    while (!isOver) await act(orders);
  });
  const settled = signers.finally(() => (isOver = true));
  await Promise.all([settled, ...tracking]);
  return settled;
}

function race(work: readonly AtWork[]) {
  const orders = work.flatMap(({ authorised, requested }) => [...authorised, ...requested]);
  return withTracker(
    orders,
    Promise.all([
      Promise.all(work.map((one) => signUntilNoneIsLeft(one, one.attempts))),
      Promise.all(work.map((one) => one.store.authorise(one.lease, one.nonce, () => one.decisions))),
      ...work.map((one) => one.store.saveObstacles(one.lease, one.obstacles)),
    ]),
  );
}

test('ends each payout one way without deadlocks between two wallets and the tracker', async () => {
  const none = { signed: 0, expired: 0, authorised: 0, refused: 0, waiting: 0 };
  const counts = new Map(wallets.map(({ address }) => [address, { ...none }]));
  const haveAllHappened = () => [...counts.values()].every((count) => !Object.values(count).includes(0));
  for (let round = 0; round < ROUNDS || !haveAllHappened(); round += 1) {
    // The wallets alternate in starting first, because the policy's windows have one lock.
    const work = shuffled(await Promise.all(wallets.map(createWork)));
    const authorised = work.flatMap((one) => one.authorised);
    const orders = [...authorised, ...work.flatMap(({ requested }) => requested)];
    // On a slow machine signing may exceed the interval, so it grows until some are signed in time.
    await endSoon(orders, authorised, 300 * Math.max(1, round - ROUNDS + 2));
    await isAround('min', orders, random() * 150 - 50);
    const [saved, moved] = await race(work);
    const stillOpen = orders.filter(({ order_pk: pk }) => !saved.some((one) => one.has(pk)));
    await isAround('max', stillOpen, 1);
    const ended = new Map((await outcomesOf(orders)).map((row) => [row.order_pk, row]));

    for (const [i, one] of work.entries()) {
      const count = counts.get(one.address)!;
      for (const { order_pk: orderPk } of one.authorised) {
        const isSaved = saved[i]!.has(orderPk);
        expect(ended.get(orderPk)).toEqual({
          order_pk: orderPk,
          ...(isSaved ? SIGNED : { ...ENDED, authorised: true }),
        });
        count[isSaved ? 'signed' : 'expired'] += 1;
      }
      const { decisions } = one;
      const endOf = (orderPk: string) => ended.get(orderPk)!;
      for (const orderPk of decisions.authorised) {
        const isMoved = moved[i]!.includes(orderPk);
        expect(endOf(orderPk)).toEqual({ order_pk: orderPk, ...ENDED, authorised: isMoved });
        if (isMoved) count.authorised += 1;
      }
      for (const orderPk of decisions.needApproval) {
        const isWaiting = endOf(orderPk).state === 'REQUESTED';
        const waiting = { ...ENDED, state: 'REQUESTED', money: 'RESERVED', waits: true };
        expect(endOf(orderPk)).toEqual({
          order_pk: orderPk,
          ...(isWaiting ? waiting : ENDED),
          authorised: false,
        });
        if (isWaiting) count.waiting += 1;
      }
      for (const { orderPk } of decisions.refused) {
        const state = endOf(orderPk).state === 'REFUSED' ? 'REFUSED' : 'EXPIRED';
        expect(endOf(orderPk)).toEqual({ order_pk: orderPk, ...ENDED, state, authorised: false });
        if (state === 'REFUSED') count.refused += 1;
      }
      for (const { orderPk } of decisions.obstacles)
        expect(endOf(orderPk)).toEqual({ order_pk: orderPk, ...ENDED, authorised: false });
    }
    await world.settle();
  }
});

test('detects a deadlock between transactions that lock in opposite orders', async () => {
  const [first, second] = keys(await payouts(wallets[0])).toSorted();
  let locked = 0;
  const lockBoth = (orderPks: readonly (string | undefined)[]) =>
    world.admin.transaction().execute(async (tx) => {
      for (const orderPk of orderPks) {
        await sql`select from payout where order_pk = ${orderPk} for update`.execute(tx);
        locked += 1;
        await waitUntil('both have one', () => locked >= 2);
      }
    });
  const outcomes = await Promise.allSettled([lockBoth([first, second]), lockBoth([second, first])]);
  const reasons = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  expect(reasons).toHaveLength(1);
  expect(reasons[0]).toBeInstanceOf(GatewayError);
  expect((reasons[0] as GatewayError).context['sqlState']).toBe('40P01');
});
