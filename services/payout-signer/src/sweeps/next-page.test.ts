import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { baseUnits } from '@opentill/domain/money';
import type { DepositAsset } from './store/sweep-facts.ts';
import { nextDepositPage, type RoundMemory } from './next-page.ts';

const depositAt = (place: number): DepositAsset => ({
  address: `0x${place}` as Address,
  depositIndex: place,
  symbol: 'USDT',
  contract: null,
  amountBaseUnits: baseUnits(1n),
  since: new Date(place),
  position: { since: `${place}`, address: `0x${place}`, symbol: 'USDT' },
});
const deposits = [1, 2, 3].map(depositAt);
const [first, second, third] = deposits as [DepositAsset, DepositAsset, DepositAsset];

describe('next page', () => {
  test.each([
    ['behind assets that wait for another reason', [second, third], false, first.position],
    ['at the same asset when the oldest is next in turn', [first], false, second.position],
    ['behind the page when no asset in it is next in turn', [], false, third.position],
    ['from the oldest on when the page was the last', [], true, undefined],
  ])('reads the next page %s', (_, keeps, isLast, after) => {
    const memory: RoundMemory = { after: second.position };
    nextDepositPage(memory, { deposits, isLast }, new Set(keeps));
    expect(memory.after).toEqual(after);
  });

  test('reads from the oldest balance on when the page is empty', () => {
    const memory: RoundMemory = { after: second.position };
    nextDepositPage(memory, { deposits: [], isLast: true }, new Set());
    expect(memory.after).toBeUndefined();
  });
});
