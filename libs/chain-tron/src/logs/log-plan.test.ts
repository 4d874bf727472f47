import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { createLogPlan } from './log-plan.ts';
import type { TokenLog } from './read-logs.ts';

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
const logOf = (isPlain = true) => ({ tokenHex: TOKEN, isPlain }) as TokenLog;
const BLOCKS = { from: 1_000, to: 1_001 };

test('filters by recipient only tokens whose form two sources have shown', async () => {
  const plan = planOf(1_500);
  expect(await plan.filtersFor(BLOCKS)).toEqual([{ tokens: [TOKEN, OTHER] }]);
  plan.noteForms([logOf()]);
  const filters = await plan.filtersFor(BLOCKS);
  expect(filters.map(({ tokens, from, to }) => [tokens, from?.length, to?.length])).toEqual([
    [[TOKEN], undefined, 1_000],
    [[TOKEN], undefined, 500],
    [[TOKEN], 1, undefined],
    [[OTHER], undefined, undefined],
  ]);
});

test('does not filter a token that writes addresses with a prefix', async () => {
  const plan = planOf(1, [TOKEN]);
  plan.noteForms([logOf(), logOf(false)]);
  expect(await plan.filtersFor(BLOCKS)).toEqual([{ tokens: [TOKEN] }]);
});

test('asks for all transfers if the recipients would take more bytes', async () => {
  const plan = planOf(2_001, [TOKEN]);
  plan.noteForms([logOf()]);
  expect(await plan.filtersFor(BLOCKS)).toEqual([{ tokens: [TOKEN] }]);
});
