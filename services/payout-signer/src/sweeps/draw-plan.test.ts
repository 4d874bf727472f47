import { describe, expect, test } from 'vitest';
import type { SweepPlan } from '@opentill/domain/plan-sweeps';
import { drawPlan, showPlan } from './draw-plan.ts';
import type { SweepBooks } from './store/sweep-facts.ts';

const NOW = new Date('2026-11-22T12:00:00Z');

function deposits(symbol: string, contract: string | null, address: string) {
  return { address, depositIndex: 7, symbol, contract, amountBaseUnits: 5n, since: NOW };
}

test('lists assets that are not configured and unknown addresses as waiting', async () => {
  const token = { symbol: 'USDT', contract: 'usdt', decimals: 6, displayDecimals: 2 };
  const deps = {
    network: { chain: 'TRON_TEST', nativeSymbol: 'TRX', nativeDecimals: 6, tokens: [token] },
    codec: { parse: (text: string) => text },
    wallet: 'hot',
    policy: { coldAddress: 'cold', assets: new Map(), sweep: { minAgeMs: 1, maxAgeMs: 2, batchSize: 5 } },
    isDepositAddress: (address: string, index: number) => address === 'ours' && index === 7,
  };
  const books = {
    now: NOW,
    open: [],
    hot: new Map(),
    spentLastDay: 0n,
    heldSymbols: new Set(),
    haltedWallets: new Set(),
    requests: [],
    requestedAt: null,
    page: {
      isLast: true,
      deposits: [
        deposits('USDT', 'usdt', 'ours'),
        deposits('USDT', 'another', 'ours'),
        deposits('OLD', 'old', 'ours'),
        deposits('USDT', 'usdt', 'theirs'),
      ],
    },
  };
  const signal = new AbortController().signal;
  const { plan, keeps } = await drawPlan(
    {
      ...deps,
      policy: { ...deps.policy, sweep: { ...deps.policy.sweep, maxNativePerDayBaseUnits: 9n } },
    } as never,
    books as unknown as SweepBooks,
    signal,
  );
  expect(plan.waiting.map(({ asset, reason }) => [asset.symbol, asset.address, reason])).toEqual([
    ['USDT', 'ours', 'TOO_YOUNG'],
    ['USDT', 'ours', 'NOT_CONFIGURED'],
    ['OLD', 'ours', 'NOT_CONFIGURED'],
    ['USDT', 'theirs', 'UNKNOWN_ADDRESS'],
  ]);
  expect(keeps.size).toBe(0);
});

describe('shown plan', () => {
  test('shows the highest cost of each sweep, and the coin that is brought first', () => {
    const asset = { address: 'a', symbol: 'USDT' };
    const plan = {
      begin: [
        {
          asset,
          option: { method: 'TOP_UP', costBaseUnits: 100n, topUpBaseUnits: 70n },
          amountBaseUnits: 5n,
          destination: 'COLD',
        },
      ],
      waiting: [
        { asset, reason: 'TOO_YOUNG' },
        { asset, reason: 'TOO_YOUNG' },
      ],
      toCold: [{ symbol: 'USDT', amountBaseUnits: 9n, costBaseUnits: 50n }],
    } as unknown as SweepPlan;
    expect(showPlan(plan, 3n, 1_000n)).toEqual({
      gasPrice: '3',
      budgetLeft: '1000',
      begin: [
        {
          address: 'a',
          symbol: 'USDT',
          amount: '5',
          method: 'TOP_UP',
          cost: '120',
          topUp: '70',
          destination: 'COLD',
        },
      ],
      toCold: [{ symbol: 'USDT', amount: '9', cost: '60' }],
      waiting: { TOO_YOUNG: 2 },
    });
  });
});
