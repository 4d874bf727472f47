import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TronSource } from '../tron-sources.ts';
import { createLogPlan } from './log-plan.ts';
import type { TokenLog } from './read-logs.ts';

const [TOKEN, OTHER] = ['a'.repeat(40), 'b'.repeat(40)];
const RECIPIENT = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH' as Address;
const PAIR = [{ label: 'a' }, { label: 'b' }] as unknown as readonly [TronSource, TronSource];

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
const logOf = (tokenHex: string, height: number, isPlain = true) =>
  ({ tokenHex, height, isPlain }) as TokenLog;
const BLOCKS = { from: 1_000, to: 1_001 };

test('filters by recipient only tokens whose form two sources have shown', async () => {
  const plan = planOf(1_500);
  expect(await plan.filtersFor(BLOCKS)).toEqual([{ tokens: [TOKEN, OTHER] }]);
  plan.noteControl(PAIR, { control: [logOf(TOKEN, 999)] });
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
  plan.noteControl(PAIR, { control: [logOf(TOKEN, 999), logOf(TOKEN, 999, false)] });
  expect(await plan.filtersFor(BLOCKS)).toEqual([{ tokens: [TOKEN] }]);
});

test('asks for all transfers if the recipients would take more bytes', async () => {
  const plan = planOf(2_001, [TOKEN]);
  plan.noteControl(PAIR, { control: [logOf(TOKEN, 999)] });
  expect(await plan.filtersFor(BLOCKS)).toEqual([{ tokens: [TOKEN] }]);
});

test('counts logs only near a block whose transfers both sources have shown', () => {
  const plan = planOf(1);
  const isProven = (from: number) => plan.isProven(PAIR, { from, to: from + 10 });
  expect(isProven(1_000)).toBe(false);
  plan.noteControl(PAIR, { control: [] });
  expect(isProven(1_000)).toBe(false);
  plan.noteControl(PAIR, { control: [logOf(TOKEN, 1_000)] });
  expect([900, 1_100, 899, 1_101].map(isProven)).toEqual([true, true, false, false]);
});

test('controls more blocks while it finds no transfer, and again after 50 blocks', () => {
  const plan = planOf(1);
  const spanAt = (to: number): number | undefined => {
    const control = plan.controlFor(PAIR, { from: to, to });
    return control && control.to - control.from + 1;
  };
  expect(spanAt(1_000)).toBe(1);
  plan.noteControl(PAIR, { control: [] });
  expect(spanAt(1_001)).toBe(2);
  plan.noteControl(PAIR, { control: [logOf(TOKEN, 1_001)] });
  expect([spanAt(1_002), spanAt(1_050), spanAt(1_051)]).toEqual([undefined, undefined, 1]);
});
