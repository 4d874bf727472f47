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
const BLOCKS = { from: 1_000, to: 1_001 };

test('filters all tokens by recipient, 450 in a filter, and by hot wallet', async () => {
  const filters = await planOf(900).filtersFor(BLOCKS);
  expect(filters.map(({ tokens, from, to }) => [tokens, from?.length, to?.length])).toEqual([
    [[TOKEN, OTHER], undefined, 450],
    [[TOKEN, OTHER], undefined, 450],
    [[TOKEN, OTHER], 1, undefined],
  ]);
});

test('asks for all transfers if the recipients would take more bytes', async () => {
  expect(await planOf(1_001, [TOKEN]).filtersFor(BLOCKS)).toEqual([{ tokens: [TOKEN] }]);
});
