import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { readerError } from '@opentill/chain/reader-error';
import { baseUnits } from '@opentill/domain/money';
import type { UnsweptAsset } from '@opentill/domain/plan-sweeps';
import { priceSweeps } from './price-sweeps.ts';
import type { DepositAsset } from './store/sweep-facts.ts';

/** Each address is read separately. A failure of nodes for one address does not affect the others. */

const COST = 100n;

const unsweptAt = (address: string, isNative = false): readonly [UnsweptAsset, DepositAsset] => {
  const shared = { symbol: isNative ? 'TRX' : 'USDT', amountBaseUnits: baseUnits(1_000n) };
  return [
    { ...shared, address, decimals: 6, isNative, sinceMs: 0, options: [] },
    {
      ...shared,
      address: address as Address,
      depositIndex: 0,
      contract: (isNative ? null : 'usdt') as DepositAsset['contract'],
      since: new Date(0),
      position: { since: '', address, symbol: shared.symbol },
    },
  ];
};

interface Nodes {
  readonly failsAt: (address: string) => Error | undefined;
  readonly hasEnergy?: boolean;
}

async function price(
  { failsAt, hasEnergy = false }: Nodes,
  unswept: readonly (readonly [UnsweptAsset, DepositAsset])[],
  signal = new AbortController().signal,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const at = <T>(address: string, answer: T): Promise<T> => {
    const failure = failsAt(address);
    return failure === undefined ? Promise.resolve(answer) : Promise.reject(failure);
  };
  const prices = { perUnit: 1n, perByte: 1n, activation: 1n, freeBytesOfNew: 0n };
  const energy = {
    seller: undefined,
    needsOf: (intents: readonly unknown[]) =>
      Promise.resolve(intents.map(() => ({ workUnits: COST, bytes: 0n }))),
    accounts: {
      market: () => Promise.resolve({ prices, stakeYield: { units: 1n, stake: 1n } }),
      bytesOf: () => 1n,
      means: (address: string) =>
        at(address, { isActive: true, coinBaseUnits: 1_000n, workUnits: 0n, freeBytes: 0n }),
    },
  };
  const chain = {
    coinAt: (address: string) => at(address, 1_000n),
    costsOf: (intents: readonly unknown[]) => Promise.resolve(intents.map(() => COST)),
    ...(hasEnergy ? { energy } : {}),
  };
  const rules = { mayLend: false, mayBuy: false };
  const deps = { chain, wallet: 'hot', coldAddress: 'cold', rules, mayGoHot: () => false };
  const priced = await priceSweeps(deps as unknown as Parameters<typeof priceSweeps>[0], unswept, { signal });
  return Object.fromEntries(
    priced.map(([{ address, options }]) => [address, options.map(({ method }) => method)]),
  );
}

const unreadable = (address: string) =>
  address === 'bad' ? readerError('INCONSISTENT_ANSWER', 'its account is none') : undefined;

describe('asset that one payment cannot move as a whole', () => {
  async function priceParts(most: (address: string) => Promise<bigint>, takes: bigint) {
    const asked: string[] = [];
    const chain = {
      coinAt: () => Promise.resolve(1_000n),
      costsOf(intents: readonly { from: string; amountBaseUnits: bigint }[]) {
        asked.push(...intents.map(({ from, amountBaseUnits }) => `${from} ${amountBaseUnits}`));
        return Promise.resolve(
          intents.map(({ from, amountBaseUnits }) =>
            from !== 'dusted' || amountBaseUnits <= takes ? COST : ('WOULD_FAIL' as const),
          ),
        );
      },
      sponsorship: { mostAtOnce: most },
    };
    const rules = { mayLend: false, mayBuy: false };
    const deps = { chain, wallet: 'hot', coldAddress: 'cold', rules, mayGoHot: () => false };
    const unswept = [unsweptAt('whole'), unsweptAt('dusted')];
    const priced = await priceSweeps(deps as unknown as Parameters<typeof priceSweeps>[0], unswept, {});
    const shown = priced.map(([{ address, amountBaseUnits, options, obstacle }, found]) => [
      address,
      amountBaseUnits,
      obstacle ?? options.length,
      found.amountBaseUnits,
    ]);
    return { asked, shown };
  }

  test('sweeps as much as one payment takes, and the rest later', async () => {
    const { asked, shown } = await priceParts(() => Promise.resolve(900n), 900n);
    expect(shown).toEqual([
      ['whole', 1_000n, 1, 1_000n],
      ['dusted', 900n, 1, 1_000n],
    ]);
    expect(asked).toEqual(['whole 1000', 'dusted 1000', 'dusted 900']);
  });

  test.each([
    ['no part of it can go', () => Promise.resolve(0n)],
    ['all of it should go', () => Promise.resolve(1_000n)],
    ['the part is unknown', () => Promise.reject(readerError('INCONSISTENT_ANSWER', 'its coins are none'))],
  ])('leaves an asset waiting when %s', async (_, most) => {
    const { asked, shown } = await priceParts(most, 900n);
    expect(shown[1]).toEqual(['dusted', 1_000n, 'WOULD_FAIL', 1_000n]);
    expect(asked).toEqual(['whole 1000', 'dusted 1000']);
  });

  test('leaves an asset waiting when the chain rejects the part too (paused token)', async () => {
    const { shown } = await priceParts(() => Promise.resolve(900n), 0n);
    expect(shown[1]).toEqual(['dusted', 900n, 'WOULD_FAIL', 1_000n]);
  });
});

describe('unreadable address', () => {
  test.each([false, true])(
    'prices the other addresses when one is unreadable; with energy: %s',
    async (hasEnergy) => {
      const unswept = [unsweptAt('good'), unsweptAt('bad'), unsweptAt('next')];
      expect(await price({ failsAt: unreadable, hasEnergy }, unswept)).toEqual({
        good: ['FREE'],
        bad: [],
        next: ['FREE'],
      });
    },
  );

  test('does not price native coin of an unreadable address', async () => {
    const unswept = [unsweptAt('good', true), unsweptAt('bad', true)];
    expect(await price({ failsAt: unreadable }, unswept)).toEqual({ good: ['FREE'], bad: [] });
  });

  test.each([false, true])('rethrows own mistakes and aborts; with energy: %s', async (hasEnergy) => {
    const broken = { failsAt: () => new TypeError('a mistake'), hasEnergy };
    await expect(price(broken, [unsweptAt('good')])).rejects.toThrow('a mistake');
    const aborted = AbortSignal.abort();
    await expect(
      price({ failsAt: unreadable, hasEnergy }, [unsweptAt('bad')], aborted),
    ).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
    });
  });
});
