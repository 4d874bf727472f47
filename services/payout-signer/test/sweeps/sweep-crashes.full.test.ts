import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import { reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { createCrashPoints, type CrashPoints } from '@opentill/testkit/crash-points';
import type { OrderRow } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { CHAIN } from '../nonce/signer-world.ts';
import { endLeases } from '../world/end-leases.ts';
import { requireProgress } from '../world/require-progress.ts';
import { COLD, createSweepWorld, type SweepWorld } from './sweep-world.ts';

// Two signers plan and sweep and crash at any SQL statement and any call to the chain. Sends or answers get lost and
// blocks are reorganised. Each address is swept once, and each fee is topped up once.

const SEED = Number(process.env['SEED'] ?? 20_261_121);
/** Signers then stop crashing: on a busy machine, ones that die often enough finish no sweep. */
const CRASHES = Number(process.env['CRASHES'] ?? 150);
const ADDRESSES = Number(process.env['ADDRESSES'] ?? 40);
const LIMIT_MS = 1_800_000;
/** Steps: statements and calls, each with a side before and one after. */
const LIFE_MAX = 500;
const USDT = 1_000_000n;

const random = seededRandom(SEED);
const counts = { crashes: 0, reorganisations: 0, lost: 0 };
const diedAt = new Map<string, number>();

let world: SweepWorld;
beforeAll(async () => {
  world = await createSweepWorld();
});
afterAll(async () => {
  await world.close();
});

const CALLS = [
  'currentPrices',
  'prepare',
  'balances',
  'sign',
  'broadcast',
  'latestCount',
  'pendingCount',
] as const;

function mortal(sender: WalletSender, points: CrashPoints): WalletSender {
  const steps = Object.fromEntries(
    CALLS.map((name) => {
      const call = sender[name] as (...given: unknown[]) => Promise<unknown>;
      const effect = (...given: unknown[]): Promise<unknown> =>
        name === 'broadcast' && random() < 0.1 ? lose(given[0] as readonly unknown[]) : call(...given);
      return [name, (...given: unknown[]) => points.around(name, () => effect(...given))];
    }),
  );
  return { ...sender, ...steps };
}

function lose(signed: readonly unknown[]): Promise<unknown> {
  counts.lost += 1;
  return Promise.resolve(signed.map(() => 'UNKNOWN'));
}

interface Life {
  readonly points: CrashPoints;
  readonly runner: Awaited<ReturnType<SweepWorld['start']>>;
}

async function startLife(): Promise<Life> {
  const points = createCrashPoints();
  const runner = await world.start({
    wrapPool: points.wrapPool,
    leaseTtlMs: 10_000,
    sender: (sender) => mortal(sender, points),
  });
  if (counts.crashes < CRASHES) points.crashAt(20 + Math.floor(random() * LIFE_MAX));
  return { points, runner };
}

async function restartCrashed(lives: Life[]): Promise<void> {
  for (const [place, { points, runner }] of lives.entries()) {
    if (!points.crashed) continue;
    counts.crashes += 1;
    const step = points.steps.at(-1) ?? 'unknown';
    diedAt.set(step, (diedAt.get(step) ?? 0) + 1);
    await runner.stop();
    await endLeases(world.admin);
    lives[place] = await startLife();
  }
}

async function countDone(): Promise<number> {
  const { rows } = await sql<{
    n: number;
  }>`select count(*)::int as n from sweep where state = 'DONE'`.execute(world.admin);
  return rows[0]?.n ?? 0;
}

test(
  'sweeps each address once with one fee top-up after any crashes',
  async () => {
    const { rpcUrl } = world.signer;
    const orders: OrderRow[] = [];
    let sum = 0n;
    for (let place = 0; place < ADDRESSES; place += 1) {
      const amount = BigInt(place + 1) * USDT + BigInt(place);
      orders.push(await world.paid(amount));
      sum += amount;
    }
    const lives = [await startLife(), await startLife()];
    const progress = requireProgress();
    for (let done = 0; done < ADDRESSES; done = await countDone()) {
      progress({ crashes: counts.crashes, done });
      await restartCrashed(lives);
      if (random() < 0.05) {
        await reorg({ rpcUrl, depth: 1 });
        counts.reorganisations += 1;
      }
      await world.signer.mine();
      await world.signer.scannerAtHead();
      await new Promise((resolve) => setTimeout(resolve, 60)); // several steps run between blocks
    }
    for (const { points, runner } of lives) {
      points.crashAt(undefined);
      await runner.stop();
    }
    console.info(counts, Object.fromEntries(diedAt));
    expect(await countDone()).toBe(ADDRESSES);
    expect(await world.tokensAt(COLD)).toBe(sum);
    expect(await world.balance('COLD')).toBe(sum);
    expect(counts.crashes).toBeGreaterThan(30);
    let coins = 0n;
    for (const order of orders) {
      expect(await world.tokensAt(order.address)).toBe(0n);
      expect((await world.movesOf(order)).filter(({ money }) => money === 'PAID_OUT')).toEqual([
        { kind: 'GAS_TOP_UP', money: 'PAID_OUT' },
        { kind: 'SWEEP', money: 'PAID_OUT' },
      ]);
      // The chain has one transaction of the address, and no more coin arrived than was booked.
      expect(
        Number(await callRpc<string>(rpcUrl, 'eth_getTransactionCount', [order.address, 'latest'])),
      ).toBe(1);
      coins += await world.coinAt(order.address);
    }
    expect(await world.balance('DEPOSIT_GAS', 'ETH')).toBe(coins);
    const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from wallet_nonce where chain = ${CHAIN} and wallet = ${world.signer.wallet} and state = 'FINAL'
      and purpose = 'PAYOUT'`.execute(world.admin);
    expect(rows[0]?.n).toBe(ADDRESSES);
  },
  LIMIT_MS,
);
