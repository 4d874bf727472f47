import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { baseUnits } from '@opentill/domain/money';
import type { LyingAsset } from './store/sweep-facts.ts';
import { turnRound, type RoundMemory } from './turn-round.ts';

const lyingAt = (place: number): LyingAsset => ({
  address: `0x${place}` as Address,
  depositIndex: place,
  symbol: 'USDT',
  contract: null,
  amountBaseUnits: baseUnits(1n),
  since: new Date(place),
  position: { since: `${place}`, address: `0x${place}`, symbol: 'USDT' },
});
const lying = [1, 2, 3].map(lyingAt);
const [first, second, third] = lying as [LyingAsset, LyingAsset, LyingAsset];

describe('next page', () => {
  test.each([
    ['behind assets that wait for another reason', [second, third], false, first.position],
    ['at the same asset when the oldest is next in turn', [first], false, second.position],
    ['behind the page when no asset in it is next in turn', [], false, third.position],
    ['from the oldest on when the page was the last', [], true, undefined],
  ])('continues %s', (_, keeps, isLast, after) => {
    const memory: RoundMemory = { after: second.position };
    turnRound(memory, { lying, isLast }, new Set(keeps));
    expect(memory.after).toEqual(after);
  });

  test('continues from the oldest on when the page is empty', () => {
    const memory: RoundMemory = { after: second.position };
    turnRound(memory, { lying: [], isLast: true }, new Set());
    expect(memory.after).toBeUndefined();
  });
});
