import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { Lease } from '@opentill/db/lease';
import { baseUnits } from '@opentill/domain/money';
import type { EnergySeller, OrderOutcome } from '../energy/energy-seller.ts';
import { advanceSweep } from './advance-sweep.ts';
import type { OpenStep } from './planner-deps.ts';
import type { NewMovement, OpenSweep } from './store/sweep-facts.ts';

// A process that buys energy stops before or after any step. The next one continues from what was committed.

const PRICE = 3_000_000n;
const NOW = new Date('2026-11-22T00:00:00Z');

class Died extends Error {}

interface World {
  rentCost: bigint | null;
  orderedAt: Date | null;
  ref: string | null;
  state: string;
  reason: string | null;
  orders: number;
  energy: bigint;
  isActive: boolean;
  maxPerOrder: bigint;
  maxPerDay: bigint;
  quoted: bigint | undefined;
  outcome: OrderOutcome;
  isSuspended: boolean;
  readonly began: string[];
  clocks: string | undefined;
  paid: bigint;
}

const fresh = (overrides: Partial<World> = {}): World => ({
  rentCost: null,
  orderedAt: null,
  ref: null,
  state: 'OPEN',
  reason: null,
  orders: 0,
  energy: 0n,
  isActive: true,
  maxPerOrder: PRICE,
  maxPerDay: PRICE,
  quoted: PRICE,
  outcome: { kind: 'ORDERED', ref: 'one' },
  isSuspended: false,
  began: [],
  clocks: undefined,
  paid: 0n,
  ...overrides,
});

/** The process stops at step `dieAt`: before its effect, or just after it. */
function openStep(world: World, dieAt = Number.POSITIVE_INFINITY): { at: OpenStep; steps: () => number } {
  let steps = 0;
  const step = async <T>(effect: () => T): Promise<T> => {
    if (steps++ >= dieAt) throw new Died();
    const result = effect();
    await Promise.resolve();
    if (steps++ >= dieAt) throw new Died();
    return result;
  };
  const seller: EnergySeller = {
    name: 'seller',
    quote: (energy) =>
      step(() =>
        world.quoted === undefined ? undefined : { energy, priceSun: world.quoted, unitPriceSun: 44n },
      ),
    order: () =>
      step(() => {
        if (world.outcome.kind !== 'REFUSED') world.orders += 1;
        return world.outcome;
      }),
  };
  const store = {
    orderEnergy: (_: Lease, __: string, price: bigint, maxPerDay: bigint) =>
      step(() => {
        if (world.rentCost !== null || price > maxPerDay) return false;
        [world.rentCost, world.orderedAt] = [price, NOW];
        return true;
      }),
    energyOrdered: (_: Lease, __: string, ref: string) => step(() => void (world.ref = ref)),
    energyRefused: () => step(() => void ([world.rentCost, world.state] = [0n, 'ABANDONED'])),
    end: (_: Lease, __: string, state: string, reason: string | null) =>
      step(() => void ([world.state, world.reason] = [state, reason])),
    move: (_: Lease, { kind }: NewMovement) => step(() => world.began.push(kind) > 0),
  };
  const prices = { perUnit: 100n, perByte: 1_000n, activation: 1_100_000n, freeBytesOfNew: 600n };
  const means = { isActive: world.isActive, coinBaseUnits: 0n, workUnits: world.energy, freeBytes: 600n };
  const sweep: OpenSweep = {
    sweepId: 'sweep',
    address: 'deposit' as Address,
    depositIndex: 0,
    symbol: 'USDT',
    contract: 'usdt' as NonNullable<OpenSweep['contract']>,
    amountBaseUnits: baseUnits(50_000_000n),
    destination: 'cold' as Address,
    destinationKind: 'COLD',
    method: 'RENT',
    costBaseUnits: PRICE,
    paidBaseUnits: world.paid,
    plannedAt: NOW,
    moves: [],
    orderedAt: world.orderedAt,
    reason: null,
  };
  const token = { symbol: 'USDT', contract: 'usdt', decimals: 6, displayDecimals: 2 };
  const deps = {
    network: { chain: 'TRON_TEST', nativeSymbol: 'TRX', nativeDecimals: 6, tokens: [token] },
    codec: { parse: (text: string) => text },
    wallet: 'hot',
    energyWaitMs: 600_000,
    policy: {
      sweep: {
        rent: true,
        maxNativePerDayBaseUnits: PRICE,
        maxRentPerOrderBaseUnits: world.maxPerOrder,
        maxRentPerDayBaseUnits: world.maxPerDay,
      },
    },
    chain: {
      energy: {
        seller,
        needsOf: () => Promise.resolve([{ workUnits: 65_000n, bytes: 345n }]),
        accounts: {
          market: () => Promise.resolve({ prices, stakeYield: { units: 1n, stake: 1n } }),
          means: () => Promise.resolve(means),
        },
      },
    },
    store,
    readClocks: () => Promise.resolve(world.clocks),
    observe: { stepped: () => undefined, ordered: () => undefined },
  };
  const at = {
    deps,
    lease: {},
    sweep,
    books: {
      now: NOW,
      isHalted: false,
      heldSymbols: new Set<string>(),
      haltedWallets: new Set<string>(),
      spentLastDay: 0n,
      suspendedMethods: new Set(world.isSuspended ? ['RENT'] : []),
    },
    signal: new AbortController().signal,
    onEnded: () => undefined,
  };
  return { at: at as unknown as OpenStep, steps: () => steps };
}

async function runProcesses(
  world: World,
  dieAt: number,
  round: (at: OpenStep) => Promise<unknown>,
): Promise<void> {
  for (const limit of [dieAt, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]) {
    if (world.state !== 'OPEN') return;
    await round(openStep(world, limit).at).catch((error: unknown) => {
      if (!(error instanceof Died)) throw error;
    });
  }
}

/** Wrong on purpose: orders first, and records it afterwards. */
async function buyCarelessly({ deps, lease, sweep, signal }: OpenStep): Promise<void> {
  const seller = deps.chain.energy?.seller;
  if (seller === undefined || sweep.orderedAt !== null) return;
  const quote = await seller.quote(65_000n, sweep.address, signal);
  if (quote === undefined) return;
  await seller.order({ receiver: sweep.address, quote }, signal);
  await deps.store.orderEnergy(lease, sweep.sweepId, quote.priceSun, PRICE);
}

const STEPS = 12;

describe('energy order', () => {
  test.each<[OrderOutcome]>([
    [{ kind: 'ORDERED', ref: 'one' }],
    [{ kind: 'UNKNOWN', why: 'no answer' }],
    [{ kind: 'REFUSED', why: '400' }],
  ])('orders energy at most once wherever a process stops: %j', async (outcome) => {
    let died = 0;
    for (let dieAt = 0; dieAt < STEPS; dieAt += 1) {
      const world = fresh({ outcome });
      await runProcesses(world, dieAt, advanceSweep);
      died += Number(world.orders === 0 && outcome.kind !== 'REFUSED');
      expect(world.orders).toBeLessThanOrEqual(1);
      if (world.orders > 0) expect(world.rentCost).toBe(PRICE);
      if (outcome.kind === 'REFUSED' && world.rentCost === 0n) expect(world.state).toBe('ABANDONED');
    }
    if (outcome.kind !== 'REFUSED') expect(died).toBeGreaterThan(0);
  });

  test('orders energy twice if the order is recorded after it was sent', async () => {
    let most = 0;
    for (let dieAt = 0; dieAt < STEPS; dieAt += 1) {
      const world = fresh();
      await runProcesses(world, dieAt, buyCarelessly);
      most = Math.max(most, world.orders);
    }
    expect(most).toBe(2);
  });

  test.each<[string, Partial<World>, string]>([
    ['costs more than one order may', { quoted: PRICE + 1n }, 'energy got dearer'],
    ['leaves too little of the plan for its own sweep', { paid: PRICE / 4n }, 'energy got dearer'],
    ['a suspended seller would deliver', { isSuspended: true }, 'no energy is bought for now'],
    ['exceeds the bound of the day', { maxPerDay: PRICE - 1n }, 'the energy budget of the day is used up'],
  ])('does not order energy that %s, and plans the address again', async (_, overrides, reason) => {
    const world = fresh(overrides);
    await runProcesses(world, Number.POSITIVE_INFINITY, advanceSweep);
    expect(world).toMatchObject({ orders: 0, rentCost: null, state: 'ABANDONED', reason });
  });

  test('orders no energy while the clocks differ, and orders once they agree', async () => {
    const world = fresh({ clocks: 'the database is ahead' });
    await runProcesses(world, Number.POSITIVE_INFINITY, advanceSweep);
    expect(world).toMatchObject({ orders: 0, rentCost: null, state: 'OPEN' });
    world.clocks = undefined;
    await runProcesses(world, Number.POSITIVE_INFINITY, advanceSweep);
    expect(world).toMatchObject({ orders: 1, rentCost: PRICE });
  });

  test('orders energy for at most the rest of the plan with its margin', async () => {
    // 345 bytes are free here. Before any payment, the plan plus a fifth is left.
    const left = (PRICE * 12n) / 10n;
    for (const [quoted, orders] of [
      [left, 1],
      [left + 1n, 0],
    ] as const) {
      const world = fresh({ quoted, maxPerOrder: 2n * PRICE, maxPerDay: 2n * PRICE });
      await runProcesses(world, Number.POSITIVE_INFINITY, advanceSweep);
      expect(world.orders).toBe(orders);
    }
  });

  test('asks again for a quote that the seller did not give', async () => {
    const world = fresh({ quoted: undefined });
    await runProcesses(world, Number.POSITIVE_INFINITY, advanceSweep);
    expect(world).toMatchObject({ orders: 0, state: 'OPEN' });
    world.quoted = PRICE;
    await runProcesses(world, Number.POSITIVE_INFINITY, advanceSweep);
    expect(world.orders).toBe(1);
  });

  test('orders no energy that is there already, or for an address without account', async () => {
    for (const isSuspended of [false, true]) {
      const world = fresh({ energy: 65_000n, isSuspended });
      expect(await advanceSweep(openStep(world).at)).toBe(true);
      expect(world).toMatchObject({ orders: 0, began: ['SWEEP'] });
    }
    const newcomer = fresh({ isActive: false });
    expect(await advanceSweep(openStep(newcomer).at)).toBe(false);
    expect(newcomer).toMatchObject({ state: 'OPEN', began: [] });
    expect(newcomer.orders).toBe(0);
  });
});
