import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import {
  areAlike,
  estimateBothDestinations,
  type Answer,
  type UnsweptDeposit,
} from './estimate-both-destinations.ts';

/** A transfer to an address without the token costs more. So the cost of a sweep is asked for its own destination. */

const unsweptAt = (address: string, symbol = 'USDT'): UnsweptDeposit => {
  const shared = { symbol, amountBaseUnits: baseUnits(1_000n) };
  return [
    { ...shared, address, decimals: 6, isNative: false, sinceMs: 0, options: [] },
    {
      ...shared,
      address: address as Address,
      depositIndex: 0,
      contract: symbol as never,
      since: new Date(0),
      position: { since: '', address, symbol },
    },
  ];
};

async function ask(
  unswept: readonly UnsweptDeposit[],
  answer: (intent: PaymentIntent) => Answer<bigint>,
  mayGoHot: (address: string) => boolean = () => true,
) {
  const asked: string[] = [];
  const answers = await estimateBothDestinations(
    (intents) => {
      asked.push(...intents.map(({ from, to }) => `${from} to ${to}`));
      return Promise.resolve(intents.map(answer));
    },
    unswept,
    {
      wallet: 'hot' as Address,
      coldAddress: 'cold' as Address,
      mayGoHot: ({ address }) => mayGoHot(address),
    },
    areAlike,
  );
  return { answers, asked };
}

const three = [unsweptAt('a'), unsweptAt('b'), unsweptAt('c')];

describe('costs by destination', () => {
  test('asks for costs once when no sweep may go to the hot wallet', async () => {
    const { answers, asked } = await ask(
      three,
      () => 100n,
      () => false,
    );
    expect(answers).toEqual([{ cold: 100n }, { cold: 100n }, { cold: 100n }]);
    expect(asked).toEqual(['a to cold', 'b to cold', 'c to cold']);
  });

  test('asks for one cost per symbol to the hot wallet if both destinations are equal', async () => {
    const { answers, asked } = await ask([...three, unsweptAt('d', 'USDC')], ({ to }) =>
      to === 'hot' ? 103n : 100n,
    );
    expect(answers).toEqual([{ cold: 100n }, { cold: 100n }, { cold: 100n }, { cold: 100n }]);
    expect(asked.slice(4)).toEqual(['a to hot', 'd to hot']);
  });

  test('asks for all costs of a symbol whose destinations cost differently', async () => {
    const { answers, asked } = await ask(
      [...three, unsweptAt('d', 'USDC')],
      ({ to, contract }) => (to === 'hot' && (contract as string) === 'USDT' ? 137n : 100n),
      (address) => address !== 'b',
    );
    expect(answers).toEqual([
      { cold: 100n, hot: 137n },
      { cold: 100n },
      { cold: 100n, hot: 137n },
      { cold: 100n },
    ]);
    expect(asked.slice(4)).toEqual(['a to hot', 'd to hot', 'c to hot']);
  });

  test('keeps the cost to the hot wallet when the issuer has blocked the cold address', async () => {
    const { answers } = await ask(three, ({ to }) => (to === 'cold' ? 'WOULD_FAIL' : 137n));
    expect(answers).toEqual(three.map(() => ({ cold: 'WOULD_FAIL', hot: 137n })));
  });

  test('keeps the costs of other senders when the issuer has blocked one', async () => {
    const { answers } = await ask(three, ({ from, to }) => {
      if (from === 'a') return 'WOULD_FAIL';
      return to === 'hot' ? 137n : 100n;
    });
    expect(answers).toEqual([
      { cold: 'WOULD_FAIL', hot: 'WOULD_FAIL' },
      { cold: 100n, hot: 137n },
      { cold: 100n, hot: 137n },
    ]);
  });

  test('does not replace an unknown cost by the cost to cold storage', async () => {
    const { answers } = await ask(three, ({ from, to }) => {
      if (to === 'cold') return 100n;
      return from === 'b' ? undefined : 137n;
    });
    expect(answers[1]).toEqual({ cold: 100n, hot: undefined });
    expect('hot' in answers[1]!).toBe(true);
  });
});
