import { describe, expect, test } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import type { MovementKind } from '@opentill/db/sweep-tables';
import { baseUnits } from '@opentill/domain/money';
import { signAttempts } from '../expiring/sign-attempts.ts';
import { signPayouts } from './sign-payouts.ts';

/* Sweeps are planned while they are cheap. When they are signed, their cost is checked against the policy again. */

const COLD = 'cold';
const NOW = new Date('2026-11-22T00:00:00Z');

interface Given {
  /** MERCHANT: a payout that no sweep needs. */
  readonly kind: MovementKind | 'MERCHANT';
  readonly workPrice: bigint | undefined;
  readonly units?: bigint;
  /** Fees that the stake covers, or the hot wallet's balance if it is the sponsor. */
  readonly allowance?: bigint;
  readonly isSponsoring?: true;
  readonly paidBesides?: bigint;
  readonly dataFee?: bigint;
}

const facts = (given: Given) => {
  const { kind } = given;
  const isDeposit = kind === 'SWEEP';
  const wallet = isDeposit ? 'deposit' : 'hot';
  const payout = {
    orderPk: 'p',
    symbol: 'USDT',
    contract: 'usdt',
    decimals: 6,
    receiver: kind === 'MERCHANT' ? 'customer' : kind === 'GAS_TOP_UP' ? 'deposit' : COLD,
    amountBaseUnits: baseUnits(1_000_000n),
    wallet,
    movement:
      kind === 'MERCHANT'
        ? null
        : {
            kind,
            depositIndex: kind === 'TO_COLD' ? null : 0,
            plannedCostBaseUnits: 1_000n,
            paidByOthersBaseUnits: given.paidBesides ?? 0n,
          },
    obstacle: null,
    approvals: [],
    isReserved: true,
    mayBePaid: false,
    paysOwnAddress: false,
    isOverdue: false,
    isSignedBefore: false,
    countsAs: 'a movement',
    merchantId: 'm',
    orderId: 'o',
    ...(kind === 'GAS_TOP_UP' ? { symbol: 'ETH', contract: null, decimals: 6 } : {}),
  };
  const block = { height: 1, hash: 'h', timeMs: NOW.getTime(), timeSeconds: NOW.getTime() / 1_000 };
  const view = {
    now: NOW,
    cursor: { seen: block, verified: block, epoch: null },
    halted: null,
    isUncertain: false,
    heldSymbols: new Set(),
    unsigned: [payout],
    nonces: [],
    attempts: [],
    otherFees: [],
    haltedWallets: new Set(),
    lastUniqueMs: null,
  };
  return { payout, view, wallet, block };
};

class Signed extends Error {}

/** A policy that permits 30 for a unit of work and 2 % of the amount, on a chain with the given price. */
function contextOf(given: Given) {
  const { wallet, block } = facts(given);
  const { workPrice, units = 50n, allowance = 0n } = given;
  const obstacles: string[] = [];
  const amounts = new Map<string | null, bigint>([
    [null, 10n ** 9n],
    ['usdt', 10n ** 9n],
  ]);
  const sweep = {
    maxGasPriceBaseUnits: 30n,
    maxCostBps: 200,
    nativePrice: { units: 1n, scale: 0 },
  };
  const costBaseUnits = units * (workPrice ?? 20n);
  const context = {
    key: { chain: 'CHAIN', wallet },
    terms: { maxOpenNonces: 16, maxOpenPayouts: 16 },
    lease: {},
    signal: new AbortController().signal,
    monotonicMs: () => 0,
    memory: { pauses: { isDue: () => true, put: () => undefined }, verifications: new Map() },
    mark: { read: () => Promise.resolve(undefined) },
    observe: { blocked: () => undefined, wouldFail: () => undefined },
    store: {
      saveObstacles: (_: unknown, found: readonly { obstacle: string }[]) =>
        void obstacles.push(...found.map(({ obstacle }) => obstacle)),
    },
    rules: {
      network: {
        chain: 'CHAIN',
        nativeSymbol: 'ETH',
        nativeDecimals: 6,
        tokens: [{ symbol: 'USDT', contract: 'usdt', decimals: 6 }],
        ...(given.dataFee !== undefined && { dataFee: 'op-stack' }),
        payouts: { maxOpenNonces: 16, maxGas: 100, maxFeePerGas: '20' },
      },
      codec: { parse: (text: string) => text, isZero: () => false },
      ownWallets: ['hot'],
      isDepositAddress: (address: string) => address === 'deposit',
      policy: {
        judge: () => ({ kind: 'AUTHORISED' }),
        allowsChain: () => true,
        coldAddressOf: () => COLD,
        sweepsOf: () => ({ sweep }),
      },
    },
    sender: {
      ...(given.isSponsoring === undefined ? {} : { sponsorship: { sponsorOf: () => undefined } }),
      validForMs: 60_000,
      currentPrices: () => Promise.resolve({ maxFeePerGas: workPrice, maxPriorityFeePerGas: 1n }),
      workPrice: () =>
        workPrice === undefined
          ? Promise.reject(readerError('RPC_UNAVAILABLE', 'no answer'))
          : Promise.resolve(workPrice),
      balances: () =>
        Promise.resolve({ block, amounts, count: 0, allowanceBaseUnits: allowance, scattered: new Map() }),
      prepare: () =>
        Promise.resolve([
          {
            kind: 'READY',
            gasLimit: units,
            feeLimitBaseUnits: costBaseUnits,
            costBaseUnits,
            ...(given.dataFee !== undefined && { dataFeeBaseUnits: given.dataFee }),
          },
        ]),
      sign: () => Promise.reject(new Signed()),
    },
  };
  return { context, obstacles };
}

async function outcomeOf(given: Given, how: 'NONCES' | 'TIMES'): Promise<readonly string[]> {
  const { context, obstacles } = contextOf(given);
  const { view } = facts(given);
  const spent = () => Promise.resolve([]);
  try {
    if (how === 'NONCES')
      await signPayouts(context as never, view as never, { pausedBy: undefined, nextNonce: 0 }, spent);
    else await signAttempts(context as never, view as never, undefined, spent);
  } catch (error) {
    if (!(error instanceof Signed)) throw error;
    return ['SIGNED'];
  }
  return obstacles;
}

describe.each(['NONCES', 'TIMES'] as const)('signing on a chain of %s', (how) => {
  test('delays a sweep that costs more than planned plus the margin', async () => {
    expect(await outcomeOf({ kind: 'SWEEP', workPrice: 24n }, how)).toEqual(['SIGNED']);
    expect(await outcomeOf({ kind: 'SWEEP', workPrice: 25n }, how)).toEqual(['FEES_ABOVE_CAP']);
  });

  test('delays sweeps and transfers to cold storage above the policy’s gas price', async () => {
    for (const kind of ['SWEEP', 'TO_COLD'] as const) {
      expect(await outcomeOf({ kind, workPrice: 30n, units: 10n }, how)).toEqual(['SIGNED']);
      expect(await outcomeOf({ kind, workPrice: 31n, units: 10n }, how)).toEqual(['FEES_ABOVE_CAP']);
    }
  });

  test('delays a transfer to cold storage that costs more than planned', async () => {
    expect(await outcomeOf({ kind: 'TO_COLD', workPrice: 24n }, how)).toEqual(['SIGNED']);
    expect(await outcomeOf({ kind: 'TO_COLD', workPrice: 25n }, how)).toEqual(['FEES_ABOVE_CAP']);
  });

  test('brings a fee at any gas price, within its planned cost', async () => {
    const bringing = { kind: 'GAS_TOP_UP', workPrice: 120n } as const;
    expect(await outcomeOf({ ...bringing, units: 10n }, how)).toEqual(['SIGNED']);
    expect(await outcomeOf({ ...bringing, units: 11n }, how)).toEqual(['FEES_ABOVE_CAP']);
  });

  test('leaves a sweep only the planned cost that bringing its fee did not use', async () => {
    const after = { kind: 'SWEEP', workPrice: 20n, paidBesides: 200n } as const;
    expect(await outcomeOf(after, how)).toEqual(['SIGNED']);
    expect(await outcomeOf({ ...after, paidBesides: 201n }, how)).toEqual(['FEES_ABOVE_CAP']);
  });
});

test('delays a payout whose data cost more than its gas may', async () => {
  const payout = { kind: 'MERCHANT', workPrice: 20n } as const;
  expect(await outcomeOf({ ...payout, dataFee: 2_000n }, 'NONCES')).toEqual(['SIGNED']);
  expect(await outcomeOf({ ...payout, dataFee: 2_001n }, 'NONCES')).toEqual(['FEES_ABOVE_CAP']);
});

describe('signing of transactions that expire', () => {
  test('ignores fees that stake covers, but counts fees that a sponsor pays', async () => {
    const dear = { kind: 'SWEEP', workPrice: 20n, units: 1_000n, allowance: 19_000n } as const;
    expect(await outcomeOf(dear, 'TIMES')).toEqual(['SIGNED']);
    expect(await outcomeOf({ ...dear, isSponsoring: true }, 'TIMES')).toEqual(['FEES_ABOVE_CAP']);
  });

  test('delays a sweep without a known gas price, but still brings fees', async () => {
    expect(await outcomeOf({ kind: 'SWEEP', workPrice: undefined }, 'TIMES')).toEqual(['FEES_ABOVE_CAP']);
    expect(await outcomeOf({ kind: 'GAS_TOP_UP', workPrice: undefined }, 'TIMES')).toEqual(['SIGNED']);
  });
});
