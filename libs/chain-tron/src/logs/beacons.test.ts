import { expect, test } from 'vitest';
import { createBeaconChoice } from './beacons.ts';

const [TOKEN, OTHER] = ['a', 'b'];
const BLOCKS = Array.from({ length: 64 }, (_, height) => height);
const transferOf = (height: number, fromHex: string, toHex: string, tokenHex = TOKEN!) => ({
  height,
  tokenHex,
  fromHex,
  toHex,
});

function learned(
  transfersAt: (height: number) => readonly ReturnType<typeof transferOf>[],
  tokens = [TOKEN!],
) {
  const choice = createBeaconChoice(tokens);
  choice.learn(BLOCKS, BLOCKS.flatMap(transfersAt));
  return choice;
}

test('chooses the fewest parties of which one takes part in nearly every block', () => {
  const choice = learned((height) => [
    transferOf(height, 'payer', 'exchange'),
    transferOf(height, 'other payer', height % 8 === 0 ? 'rare' : 'frequent'),
    transferOf(height, `once ${height}`, `once ${height}`),
  ]);
  const { from, to } = choice.chosen()!;
  expect([[...from], [...to]]).toEqual([
    ['payer', 'other payer'],
    ['exchange', 'frequent'],
  ]);
});

test('chooses none where no party recurs, of any token', () => {
  const isOf = (token: string) => (height: number) => [
    transferOf(height, 'payer', 'exchange', token),
    transferOf(height, 'payer 2', 'exchange 2', token),
  ];
  expect(learned((height) => [transferOf(height, 'payer', `once ${height}`)]).chosen()).toBeUndefined();
  expect(learned(isOf(TOKEN!), [TOKEN!, OTHER!]).chosen()).toBeUndefined();
  const both = learned((height) => [...isOf(TOKEN!)(height), ...isOf(OTHER!)(height)], [TOKEN!, OTHER!]);
  expect(both.chosen()?.to.size).toBe(2);
});

test('chooses after 16 blocks, and again from newer ones after a doubt', () => {
  const choice = createBeaconChoice([TOKEN!]);
  const learn = (heights: readonly number[], name: string): void =>
    choice.learn(
      heights,
      heights.flatMap((height) => [
        transferOf(height, name, name),
        transferOf(height, `${name} 2`, `${name} 2`),
      ]),
    );
  learn(BLOCKS.slice(0, 15), 'old');
  expect(choice.chosen()).toBeUndefined();
  learn([15], 'old');
  expect(choice.chosen()?.to.has('old')).toBe(true);
  choice.doubt();
  expect(choice.chosen()).toBeUndefined();
  learn(
    BLOCKS.map((height) => height + 64),
    'new',
  );
  expect([...choice.chosen()!.to]).toEqual(['new', 'new 2']);
});
