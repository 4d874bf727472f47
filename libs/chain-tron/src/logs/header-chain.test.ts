import { expect, test } from 'vitest';
import type { TronSource, TronSources } from '../tron-sources.ts';
import type { TronHeader } from '../decode-block.ts';
import { blockIdOf, heightDigits } from '../protobuf/header.ts';
import { createHeaderChain } from './header-chain.ts';

/** Headers of a branch; `salt` makes the ids of another one. */
function branch(length: number, salt: number, forkAt = 0, before: readonly object[] = []): readonly object[] {
  const blocks = before.slice(0, forkAt);
  for (let number = blocks.length; number < length; number += 1) {
    const parentHash =
      number === 0 ? '0'.repeat(64) : (blocks[number - 1] as { readonly blockID: string }).blockID;
    const data = { number, parentHash, timestamp: number * 3_000, txTrieRoot: `${salt}${salt}`.repeat(32) };
    const blockID = number === 0 ? heightDigits(0) + '1'.repeat(48) : blockIdOf(data, number);
    blocks.push({ blockID, block_header: { raw_data: data } });
  }
  return blocks;
}

function sourceOf(blocks: readonly object[]): TronSource & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    requests: () => asked.length,
    call: async ({ body }: { readonly body: { readonly id_or_num: string } }) => {
      asked.push(body.id_or_num);
      return blocks[Number(body.id_or_num)] ?? {};
    },
  } as unknown as TronSource & { readonly asked: string[] };
}
const chainOf = (...sources: TronSource[]) =>
  createHeaderChain({ usable: () => sources } as unknown as TronSources);
const heights = (headers: readonly TronHeader[]) => headers.map(({ height }) => height);

test('shares the headers of a range among the sources and keeps them', async () => {
  const blocks = branch(12, 1);
  const [one, other] = [sourceOf(blocks), sourceOf(blocks)];
  const chain = chainOf(one, other);
  expect(heights(await chain.read(one, { from: 2, to: 10 }, {}))).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect([one.asked.length, other.asked.length]).toEqual([5, 4]);
  await chain.read(one, { from: 4, to: 10 }, {});
  expect(one.asked.length + other.asked.length).toBe(9);
});

test('reads the headers again if a source returns those of another branch', async () => {
  const blocks = branch(12, 1);
  const [one, other] = [sourceOf(blocks), sourceOf(branch(12, 2, 5, blocks))];
  const headers = await chainOf(one, other).read(one, { from: 2, to: 10 }, {});
  expect(headers.map(({ hash }) => hash)).toEqual(
    blocks.slice(2, 11).map((block) => (block as { readonly blockID: string }).blockID),
  );
});

test('asks the source itself if another one lacks a header', async () => {
  const blocks = branch(12, 1);
  const one = sourceOf(blocks);
  const headers = await chainOf(one, sourceOf(blocks.slice(0, 4))).read(one, { from: 2, to: 10 }, {});
  expect(heights(headers)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('throws if the source contradicts itself', async () => {
  const blocks = branch(12, 1);
  const [torn] = [[...blocks.slice(0, 6), ...branch(12, 2).slice(6)]];
  const one = sourceOf(torn);
  await expect(chainOf(one).read(one, { from: 2, to: 10 }, {})).rejects.toMatchObject({
    code: 'INCONSISTENT_ANSWER',
  });
});
