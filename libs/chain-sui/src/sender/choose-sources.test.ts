import { expect, test } from 'vitest';
import fc from 'fast-check';
import { chooseSources, COINS_MAX, mostAtOnce } from './choose-sources.ts';
import type { HeldCoin } from './read-holdings.ts';

const coinOf = (balance: bigint, place: number): HeldCoin => ({
  id: `0x${place}`,
  version: '1',
  digest: 'd',
  startVersion: null,
  balance,
});
const amounts = fc.bigInt({ min: 1n, max: 1_000n });

test('takes the largest coins and leaves the dust behind', () => {
  const dust = Array.from({ length: 3_000 }, (_, place) => coinOf(1n, place + 1));
  const coins = [coinOf(100_000_000n, 0), ...dust];
  const most = mostAtOnce({ inFunds: 7n, coins });
  expect(most).toBe(100_000_000n + BigInt(COINS_MAX - 1) + 7n);
  expect(chooseSources(most, { inFunds: 7n, coins })).toMatchObject({ hasRest: false });
  expect(chooseSources(most + 1n, { inFunds: 7n, coins })).toBeUndefined();
});

test('covers the exact amount or returns the rest', () => {
  fc.assert(
    fc.property(
      fc.array(amounts, { maxLength: 200 }),
      fc.bigInt({ min: 0n, max: 2_000n }),
      fc.bigInt({ min: 1n, max: 5_000n }),
      (balances, inFunds, amount) => {
        const coins = balances.toSorted((a, b) => Number(b - a)).map(coinOf);
        const chosen = chooseSources(amount, { inFunds, coins });
        const held = balances.reduce((sum, balance) => sum + balance, inFunds);
        if (chosen === undefined) {
          expect(amount).toBeGreaterThan(mostAtOnce({ inFunds, coins }));
          return;
        }
        expect(amount).toBeLessThanOrEqual(mostAtOnce({ inFunds, coins }));
        const inCoins = chosen.coins.reduce(
          (sum, { id }) => sum + (coins.find((coin) => coin.id === id)?.balance ?? 0n),
          0n,
        );
        expect(new Set(chosen.coins.map(({ id }) => id)).size).toBe(chosen.coins.length);
        expect(chosen.coins.length).toBeLessThanOrEqual(COINS_MAX);
        expect(chosen.withdrawnBaseUnits).toBeLessThanOrEqual(inFunds);
        const rest = inCoins + chosen.withdrawnBaseUnits - amount;
        expect(chosen.hasRest ? rest > 0n : rest === 0n).toBe(true);
        if (held === amount) expect(chosen.hasRest).toBe(false);
      },
    ),
  );
});
