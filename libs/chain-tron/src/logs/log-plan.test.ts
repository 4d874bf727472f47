import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { createLogPlan } from './log-plan.ts';

const [TOKEN, OTHER] = ['a'.repeat(40), 'b'.repeat(40)];
const RECIPIENT = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH' as Address;

function planOf(recipients: number, tokens = [TOKEN, OTHER]) {
  const all = Array.from({ length: recipients }, () => RECIPIENT);
  return createLogPlan(
    {
      recipients: async (max) => (all.length > max ? undefined : all),
      hotWallets: async () => new Set([RECIPIENT]),
    },
    tokens,
  );
}
const BEACONS = { from: new Set(['1']), to: new Set(['2']) };
const BLOCKS = { from: 1_000, to: 1_001 };

test('filters by 450 recipients each and by hot wallet, with beacons as the last', async () => {
  const { filters } = await planOf(900).planFor(BLOCKS, BEACONS);
  expect(filters.map(({ tokens, from, to }) => [tokens, from?.length, to?.length])).toEqual([
    [[TOKEN, OTHER], undefined, 451],
    [[TOKEN, OTHER], undefined, 451],
    [[TOKEN, OTHER], 2, undefined],
  ]);
  expect([filters[0]?.to?.at(-1), filters[2]?.from?.at(-1)]).toEqual(['2', '1']);
});

test('asks for all transfers if recipients take more bytes, or without beacons', async () => {
  const all = { filters: [{ tokens: [TOKEN] }], recipients: undefined };
  expect(await planOf(1_001, [TOKEN]).planFor(BLOCKS, BEACONS)).toEqual(all);
  expect(await planOf(1, [TOKEN]).planFor(BLOCKS, undefined)).toEqual(all);
});
