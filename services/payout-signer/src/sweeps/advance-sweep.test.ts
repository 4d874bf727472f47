import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { Lease } from '@opentill/db/lease';
import type { MovementKind, SweepMethod } from '@opentill/db/sweep-tables';
import { baseUnits } from '@opentill/domain/money';
import { advanceSweep } from './advance-sweep.ts';
import type { CostObstacle, NewMovement, OpenSweep, SweepMove } from './store/sweep-facts.ts';
import type { OpenStep } from './planner-deps.ts';

/** A sweep that cannot continue gives up its place, with every method. Only money that moves costs a fee. */

const NOW = new Date('2026-11-22T00:00:00Z');
const WAIT_MINUTES = 10;
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);

const moved = (kind: MovementKind, minutes: number): SweepMove => ({
  kind,
  money: 'PAID_OUT',
  amountBaseUnits: 1_000_000n,
  isUnsigned: false,
  hasEndedUnpaid: false,
  endedAt: null,
  changedAt: ago(minutes),
});
const expired = (kind: MovementKind, minutes: number): SweepMove => ({
  ...moved(kind, minutes),
  money: 'RELEASED',
  hasEndedUnpaid: true,
  endedAt: ago(minutes),
});

interface Given {
  readonly method: SweepMethod;
  readonly moves?: readonly SweepMove[];
  readonly plannedMinutesAgo?: number;
  readonly obstacle?: CostObstacle | 'ASSET_HELD' | 'UNKNOWN';
  readonly isHalted?: boolean;
  readonly isWalletHalted?: boolean;
  /** The address then has no coin. Absent: enough of both. */
  readonly workUnits?: bigint;
  readonly reason?: string;
  readonly symbol?: string;
  readonly isWithoutPolicy?: boolean;
  /** Out of a budget of ten, including the rest of this sweep's plan. */
  readonly spentLastDay?: bigint;
  /** Energy that it would burn now; 6.5 TRX were planned. */
  readonly units?: bigint;
  readonly coin?: bigint;
  readonly paid?: bigint;
  readonly onEnded?: (stillToCome: bigint) => void;
  readonly isSponsored?: true;
  readonly uncovered?: MovementKind;
  readonly lent?: bigint;
}

/** @returns the movements that one round began, and the end of the sweep, as text */
async function advance(given: Given): Promise<readonly string[]> {
  const { method, moves = [], plannedMinutesAgo = 0, obstacle } = given;
  const done: string[] = [];
  const store = {
    end: (_: Lease, __: string, state: string, reason: string | null) =>
      void done.push(`${state}: ${reason}`),
    move: (_: Lease, { kind, endsFor }: NewMovement) => {
      done.push(endsFor === undefined ? kind : `${kind}, ${endsFor}`);
      return Promise.resolve(kind !== given.uncovered);
    },
    orderEnergy: () => Promise.reject(new Error('nothing may be bought')),
  };
  const sweep: OpenSweep = {
    sweepId: 'sweep',
    address: 'deposit' as Address,
    depositIndex: 0,
    symbol: given.symbol ?? 'USDT',
    contract: 'usdt' as NonNullable<OpenSweep['contract']>,
    amountBaseUnits: baseUnits(50_000_000n),
    destination: 'cold' as Address,
    destinationKind: 'COLD',
    method,
    costBaseUnits: 6_500_000n,
    paidBaseUnits: given.paid ?? 0n,
    plannedAt: ago(plannedMinutesAgo),
    moves,
    orderedAt: null,
    reason: given.reason ?? null,
  };
  const stands = obstacle === 'ASSET_HELD' ? undefined : obstacle;
  const prices = { perUnit: 100n, perByte: 1_000n, activation: 1_100_000n, freeBytesOfNew: 600n };
  const means = {
    isActive: true,
    coinBaseUnits: given.coin ?? (given.workUnits === undefined ? 20_000_000n : 0n),
    workUnits: given.workUnits ?? 65_000n,
    freeBytes: 600n,
  };
  const deps = {
    network: {
      chain: 'TRON_TEST',
      nativeSymbol: 'TRX',
      nativeDecimals: 6,
      tokens: [{ symbol: 'USDT', contract: 'usdt', decimals: 6, displayDecimals: 2 }],
    },
    codec: { parse: (text: string) => text },
    wallet: 'hot',
    policy: given.isWithoutPolicy === true ? undefined : { sweep: { maxNativePerDayBaseUnits: 10n } },
    energyWaitMs: WAIT_MINUTES * 60_000,
    chain: {
      ...(given.isSponsored === undefined ? {} : { sponsorship: {} }),
      energy: {
        needsOf: () =>
          Promise.resolve([
            stands === 'UNKNOWN'
              ? undefined
              : (stands ?? { workUnits: 65_000n + (given.units ?? 0n), bytes: 345n }),
          ]),
        accounts: {
          market: () => Promise.resolve({ prices, stakeYield: { units: 1n, stake: 1n } }),
          means: () => Promise.resolve(means),
          lent: () => Promise.resolve(given.lent ?? 1_000_000n),
          delegable: () => Promise.resolve(10_000_000_000n),
          bytesOf: () => 300n,
        },
      },
    },
    store,
    observe: { stepped: () => undefined, ordered: () => undefined },
  };
  const at = {
    deps,
    lease: {},
    sweep,
    books: {
      now: NOW,
      isHalted: given.isHalted === true,
      spentLastDay: given.spentLastDay ?? 10n,
      haltedWallets: new Set(given.isWalletHalted === true ? ['hot'] : []),
      heldSymbols: new Set(obstacle === 'ASSET_HELD' ? ['USDT'] : []),
      suspendedMethods: new Set(),
    },
    signal: new AbortController().signal,
    onEnded: (stillToCome: bigint) => given.onEnded?.(stillToCome),
  };
  await advanceSweep(at as unknown as OpenStep);
  return done;
}

const BEFORE_ANYTHING = [{ method: 'TOP_UP' }, { method: 'RENT' }, { method: 'STAKE' }] as const;
const REFUSED = 'the chain would refuse the transfer';

test.each<[NonNullable<Given['obstacle']>, string]>([
  ['WOULD_FAIL', REFUSED],
  ['FEES_ABOVE_CAP', 'fees are above what may be paid'],
  ['ASSET_HELD', 'its asset is on hold'],
])('brings no fee while the obstacle is %s, and gives up after ten minutes', async (obstacle, reason) => {
  for (const given of BEFORE_ANYTHING) {
    expect(await advance({ ...given, obstacle, plannedMinutesAgo: WAIT_MINUTES - 1 })).toEqual([]);
    expect(await advance({ ...given, obstacle, plannedMinutesAgo: WAIT_MINUTES })).toEqual([
      `ABANDONED: ${reason}`,
    ]);
  }
});

test('waits an hour while the cost is unknown or the token is not configured', async () => {
  for (const given of BEFORE_ANYTHING) {
    expect(await advance({ ...given, obstacle: 'UNKNOWN', plannedMinutesAgo: 6 * WAIT_MINUTES - 1 })).toEqual(
      [],
    );
    expect(await advance({ ...given, obstacle: 'UNKNOWN', plannedMinutesAgo: 6 * WAIT_MINUTES })).toEqual([
      'ABANDONED: its cost is unknown',
    ]);
  }
  const gone = { method: 'FREE', symbol: 'GONE' } as const;
  expect(await advance({ ...gone, plannedMinutesAgo: 59 })).toEqual([]);
  expect(await advance({ ...gone, plannedMinutesAgo: 60 })).toEqual(['ABANDONED: its cost is unknown']);
});

test('takes lent stake back when a sweep is given up, and leaves brought coin', async () => {
  const lent = [moved('DELEGATE', WAIT_MINUTES)];
  expect(
    await advance({ method: 'STAKE', moves: lent, obstacle: 'WOULD_FAIL', plannedMinutesAgo: 20 }),
  ).toEqual([`UNDELEGATE, ${REFUSED}`]);
  const back = [...lent, moved('UNDELEGATE', 0)];
  expect(await advance({ method: 'STAKE', moves: back, reason: REFUSED })).toEqual([`ABANDONED: ${REFUSED}`]);
  const brought = [moved('GAS_TOP_UP', 90), expired('SWEEP', 5)];
  expect(await advance({ method: 'TOP_UP', moves: brought, obstacle: 'WOULD_FAIL' })).toEqual([
    `ABANDONED: ${REFUSED}`,
  ]);
  expect(await advance({ method: 'TOP_UP', moves: brought })).toEqual(['SWEEP']);
});

test('begins only UNDELEGATE while the chain is halted', async () => {
  for (const given of BEFORE_ANYTHING)
    expect(await advance({ ...given, isHalted: true, plannedMinutesAgo: 600 })).toEqual([]);
  const moves = [moved('DELEGATE', 60), moved('SWEEP', 50)];
  expect(await advance({ method: 'STAKE', moves, isHalted: true })).toEqual(['UNDELEGATE']);
});

test('ends sweeps that the policy no longer has, and takes lent stake back', async () => {
  const isWithoutPolicy = true;
  for (const given of BEFORE_ANYTHING)
    expect(await advance({ ...given, isWithoutPolicy })).toEqual([
      'ABANDONED: the policy has no sweeps here',
    ]);
  const lent = [moved('DELEGATE', 1)];
  expect(await advance({ method: 'STAKE', moves: lent, isWithoutPolicy })).toEqual([
    'UNDELEGATE, the policy has no sweeps here',
  ]);
  const all = [...lent, moved('SWEEP', 1)];
  expect(await advance({ method: 'STAKE', moves: all, isWithoutPolicy })).toEqual(['UNDELEGATE']);
  expect(
    await advance({ method: 'STAKE', moves: [...all, moved('UNDELEGATE', 0)], isWithoutPolicy }),
  ).toEqual(['DONE: null']);
  const sent = [{ ...moved('SWEEP', 1), money: 'IN_FLIGHT' as const }];
  expect(await advance({ method: 'FREE', moves: sent, isWithoutPolicy })).toEqual([]);
});

test('gives up after ten minutes what a halted hot wallet would have to sign', async () => {
  const halted = { isWalletHalted: true, workUnits: 40_000n } as const;
  const expiredTopUp = [expired('GAS_TOP_UP', WAIT_MINUTES - 1)];
  for (const method of ['TOP_UP', 'STAKE'] as const) {
    expect(await advance({ ...halted, method, plannedMinutesAgo: WAIT_MINUTES - 1 })).toEqual([]);
    expect(await advance({ ...halted, method, plannedMinutesAgo: WAIT_MINUTES })).toEqual([
      'ABANDONED: the hot wallet is halted',
    ]);
  }
  // Its movement expired unsigned: the time counts from then on.
  expect(await advance({ ...halted, method: 'TOP_UP', moves: expiredTopUp, plannedMinutesAgo: 70 })).toEqual(
    [],
  );
  const longAgo = [expired('GAS_TOP_UP', WAIT_MINUTES)];
  expect(await advance({ ...halted, method: 'TOP_UP', moves: longAgo, plannedMinutesAgo: 70 })).toEqual([
    'ABANDONED: the hot wallet is halted',
  ]);
  // Not while it waits for the signature: an unknown transaction of that wallet may have done the same.
  const waiting = [{ ...moved('GAS_TOP_UP', 600), money: 'RESERVED' as const, isUnsigned: true }];
  expect(await advance({ ...halted, method: 'TOP_UP', moves: waiting, plannedMinutesAgo: 600 })).toEqual([]);
  expect(
    await advance({ method: 'TOP_UP', workUnits: 40_000n, moves: longAgo, plannedMinutesAgo: 70 }),
  ).toEqual(['GAS_TOP_UP']);
});

test('sweeps without the halted hot wallet, and takes lent stake back', async () => {
  const isWalletHalted = true;
  expect(await advance({ method: 'TOP_UP', isWalletHalted })).toEqual(['SWEEP']);
  expect(await advance({ method: 'STAKE', isWalletHalted })).toEqual(['SWEEP']);
  const brought = [moved('GAS_TOP_UP', 90)];
  expect(await advance({ method: 'TOP_UP', moves: brought, isWalletHalted })).toEqual(['SWEEP']);
  const moves = [moved('DELEGATE', 60), moved('SWEEP', 50)];
  expect(await advance({ method: 'STAKE', moves, isWalletHalted })).toEqual(['UNDELEGATE']);
});

const FEES_ABOVE_BOUND = 'fees are above what may be paid';

test('gives up a sweep whose next try would cost more than planned', async () => {
  const tried = { method: 'FREE', moves: [expired('SWEEP', 5)] } as const;
  // 78,000 units of 100 sun are the planned 6.5 TRX plus a fifth.
  expect(await advance({ ...tried, units: 78_000n })).toEqual(['SWEEP']);
  expect(await advance({ ...tried, units: 78_001n })).toEqual([`ABANDONED: ${FEES_ABOVE_BOUND}`]);
  expect(await advance({ ...tried, units: 78_000n, paid: 1n })).toEqual([`ABANDONED: ${FEES_ABOVE_BOUND}`]);
  expect(await advance({ ...tried, units: 100n, coin: 1n })).toEqual([`ABANDONED: ${FEES_ABOVE_BOUND}`]);
});

test('ends a sweep as FAILED when its transaction failed and spent its fee', async () => {
  const sent = [{ ...expired('SWEEP', 5), money: 'RETURNED' as const }];
  expect(await advance({ method: 'FREE', moves: sent, units: 100n, coin: 1n })).toEqual([
    'FAILED: SWEEP failed, and spent its fee',
  ]);
});

test('brings no fee above the planned cost, and gives up after ten minutes', async () => {
  const dear = { method: 'TOP_UP', units: 78_001n, coin: 0n } as const;
  expect(await advance({ ...dear, units: 78_000n })).toEqual(['GAS_TOP_UP']);
  expect(await advance({ ...dear, plannedMinutesAgo: WAIT_MINUTES - 1 })).toEqual([]);
  expect(await advance({ ...dear, plannedMinutesAgo: WAIT_MINUTES })).toEqual([
    `ABANDONED: ${FEES_ABOVE_BOUND}`,
  ]);
});

test('sweeps with lent energy only within the planned cost', async () => {
  const lent = { method: 'STAKE', moves: [moved('DELEGATE', 1)] } as const;
  expect(await advance({ ...lent, units: 78_000n })).toEqual(['SWEEP']);
  expect(await advance({ ...lent, units: 78_001n })).toEqual([]);
});

test('gives up beyond the day’s budget: at once after a failed try, else in 10 min', async () => {
  const spentLastDay = 11n;
  for (const kind of ['RELEASED', 'RETURNED'] as const) {
    const moves = [{ ...expired('SWEEP', 5), money: kind }];
    expect(await advance({ method: 'FREE', moves })).toEqual(['SWEEP']);
    expect(await advance({ method: 'FREE', moves, spentLastDay })).toEqual([
      'ABANDONED: the budget of the day is used up',
    ]);
  }
  for (const given of BEFORE_ANYTHING) {
    expect(await advance({ ...given, spentLastDay, plannedMinutesAgo: WAIT_MINUTES - 1 })).toEqual([]);
    expect(await advance({ ...given, spentLastDay, plannedMinutesAgo: WAIT_MINUTES })).toEqual([
      'ABANDONED: the budget of the day is used up',
    ]);
  }
  const all = [moved('DELEGATE', 60), moved('SWEEP', 50)];
  expect(await advance({ method: 'STAKE', moves: all, spentLastDay })).toEqual(['UNDELEGATE']);
});

test('reports the unspent rest of the plan when a sweep ends', async () => {
  const ended: bigint[] = [];
  const onEnded = (stillToCome: bigint) => void ended.push(stillToCome);
  const over = { method: 'TOP_UP', spentLastDay: 11n, onEnded, plannedMinutesAgo: WAIT_MINUTES } as const;
  await advance(over);
  await advance({ ...over, paid: 800_000n });
  await advance({ ...over, paid: 9_000_000n });
  // Its stake is still lent.
  await advance({ ...over, method: 'STAKE', moves: [moved('DELEGATE', WAIT_MINUTES)] });
  expect(ended).toEqual([7_800_000n, 7_000_000n, 0n]);
});

test('begins no further sweep that a halted hot wallet would have to sponsor', async () => {
  const sponsored = { method: 'FREE', isSponsored: true, isWalletHalted: true } as const;
  expect(await advance({ ...sponsored, plannedMinutesAgo: WAIT_MINUTES - 1 })).toEqual([]);
  expect(await advance({ ...sponsored, moves: [expired('SWEEP', 5)] })).toEqual([
    'ABANDONED: the hot wallet is halted',
  ]);
  expect(await advance({ ...sponsored, isWalletHalted: false })).toEqual(['SWEEP']);
  expect(await advance({ method: 'FREE', isWalletHalted: true })).toEqual(['SWEEP']);
});

test('ends a SWEEP that is not covered, takes lent stake back, and retries a top-up', async () => {
  const uncovered = 'SWEEP';
  const lent = [moved('DELEGATE', 1)];
  expect(await advance({ method: 'FREE', uncovered })).toEqual(['SWEEP', 'ABANDONED: not covered']);
  expect(await advance({ method: 'STAKE', moves: lent, uncovered })).toEqual([
    'SWEEP',
    'UNDELEGATE, not covered',
  ]);
  expect(await advance({ method: 'STAKE', moves: lent, uncovered, lent: 0n })).toEqual([
    'SWEEP',
    'ABANDONED: not covered',
  ]);
  const bare = { method: 'TOP_UP', units: 100n, coin: 0n } as const;
  expect(await advance({ ...bare, uncovered: 'GAS_TOP_UP' })).toEqual(['GAS_TOP_UP']);
  const used = { method: 'STAKE', moves: [...lent, moved('SWEEP', 1)] } as const;
  expect(await advance({ ...used, uncovered: 'UNDELEGATE' })).toEqual(['UNDELEGATE']);
});
