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

describe('the next look', () => {
  test.each([
    ['behind what waits for something else', [second, third], false, first.position],
    ['at the same, where the oldest has its turn', [first], false, second.position],
    ['behind the page, where nothing in it has its turn', [], false, third.position],
    ['from the oldest on, where nothing lies behind', [], true, undefined],
  ])('is %s', (_, keeps, isLast, after) => {
    const memory: RoundMemory = { after: second.position };
    turnRound(memory, { lying, isLast }, new Set(keeps));
    expect(memory.after).toEqual(after);
  });

  test('is from the oldest on, where nothing was found', () => {
    const memory: RoundMemory = { after: second.position };
    turnRound(memory, { lying: [], isLast: true }, new Set());
    expect(memory.after).toBeUndefined();
  });
});
