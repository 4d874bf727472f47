import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { areAlike, askBothWays, type Answer, type Lying } from './ask-both-ways.ts';

/* A transfer to somebody who holds none of a token costs more: what a sweep costs is asked for where it goes. */

const lyingAt = (address: string, symbol = 'USDT'): Lying => {
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

/** @returns the answers, and how often a chain was asked for the price of one payment */
async function ask(
  lying: readonly Lying[],
  answer: (intent: PaymentIntent) => Answer<bigint>,
  mayGoHot: (address: string) => boolean = () => true,
) {
  const asked: string[] = [];
  const answers = await askBothWays(
    (intents) => {
      asked.push(...intents.map(({ from, to }) => `${from} to ${to}`));
      return Promise.resolve(intents.map(answer));
    },
    lying,
    {
      wallet: 'hot' as Address,
      coldAddress: 'cold' as Address,
      mayGoHot: ({ address }) => mayGoHot(address),
    },
    areAlike,
  );
  return { answers, asked };
}

const three = [lyingAt('a'), lyingAt('b'), lyingAt('c')];

describe('what a sweep takes', () => {
  test('is asked once where nothing goes to the hot wallet', async () => {
    const { answers, asked } = await ask(
      three,
      () => 100n,
      () => false,
    );
    expect(answers).toEqual([{ cold: 100n }, { cold: 100n }, { cold: 100n }]);
    expect(asked).toEqual(['a to cold', 'b to cold', 'c to cold']);
  });

  test('is asked once more of each symbol where the two receivers are alike', async () => {
    const { answers, asked } = await ask([...three, lyingAt('d', 'USDC')], ({ to }) =>
      to === 'hot' ? 103n : 100n,
    );
    expect(answers).toEqual([{ cold: 100n }, { cold: 100n }, { cold: 100n }, { cold: 100n }]);
    expect(asked.slice(4)).toEqual(['a to hot', 'd to hot']);
  });

  test('is asked of all that may go there where they are not, and of no other symbol', async () => {
    const { answers, asked } = await ask(
      [...three, lyingAt('d', 'USDC')],
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

  test('of a receiver that the issuer has blocked says nothing of the other one', async () => {
    const { answers } = await ask(three, ({ to }) => (to === 'cold' ? 'WOULD_FAIL' : 137n));
    expect(answers).toEqual(three.map(() => ({ cold: 'WOULD_FAIL', hot: 137n })));
  });

  test('of a sender that it has blocked says nothing of the other senders', async () => {
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

  test('that nobody could say is not what it takes to cold storage', async () => {
    const { answers } = await ask(three, ({ from, to }) => {
      if (to === 'cold') return 100n;
      return from === 'b' ? undefined : 137n;
    });
    expect(answers[1]).toEqual({ cold: 100n, hot: undefined });
    expect('hot' in answers[1]!).toBe(true);
  });
});
