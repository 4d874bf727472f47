import { expect, test } from 'vitest';
import type { TronSource, TronSources } from '../tron-sources.ts';
import type { TronHeader } from '../decode-block.ts';
import { blockIdOf, heightDigits } from '../protobuf/header.ts';
import { createHeaderChain } from './header-chain.ts';
import type { LogOffers } from './log-offers.ts';

/** Headers of a branch; `salt` makes the ids of another one. */
function branch(length: number, salt: number, forkAt = 0, before: readonly object[] = []): readonly object[] {
  const blocks = before.slice(0, forkAt);
  for (let number = blocks.length; number < length; number += 1) {
    const parentHash =
      number === 0 ? '0'.repeat(64) : (blocks[number - 1] as { readonly blockID: string }).blockID;
    const data = {
      number,
      parentHash,
      timestamp: number * 3_000,
      txTrieRoot: `${salt}${salt}`.repeat(32),
      witness_address: `41${'5'.repeat(40)}`,
    };
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
const without: Pick<LogOffers, 'isOffered' | 'ask'> = { isOffered: () => false, ask: (_, work) => work() };
const chainOf = (...sources: TronSource[]) =>
  createHeaderChain({ usable: () => sources } as unknown as TronSources, without);
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

test('reads missing headers in one request, and unproven ones by their own', async () => {
  const blocks = branch(12, 1);
  const one = sourceOf(blocks);
  const requests: string[] = [];
  const call = async (asked: Parameters<TronSource['call']>[0], options?: object) => {
    requests.push(asked.method);
    if (asked.batch === undefined) return one.call(asked, options);
    const calls = asked.batch as readonly { readonly id: number; readonly params: readonly [string] }[];
    return calls.map(({ id, params: [height] }) => ({
      id,
      result: rpcForm(blocks[Number(height)]!, id === 0),
    }));
  };
  const source = { ...one, call } as TronSource;
  const offers = { ...without, isOffered: () => true };
  const chain = createHeaderChain({ usable: () => [source] } as unknown as TronSources, offers);
  expect(heights(await chain.read(source, { from: 7, to: 10 }, {}))).toEqual([7, 8, 9, 10]);
  expect(requests).toEqual(['getblock', 'jsonrpc', 'getblock']);
});

function rpcForm(block: object, isChanged: boolean): object {
  const { blockID, block_header: header } = block as {
    readonly blockID: string;
    readonly block_header: { readonly raw_data: Readonly<Record<string, string | number>> };
  };
  const { number, parentHash, timestamp, txTrieRoot, witness_address: witness } = header.raw_data;
  return {
    number: `0x${number!.toString(16)}`,
    hash: `0x${blockID}`,
    parentHash: `0x${parentHash}`,
    transactionsRoot: `0x${txTrieRoot}`,
    miner: `0x${String(witness).slice(2)}`,
    timestamp: `0x${(Number(timestamp) / 1_000 + (isChanged ? 3 : 0)).toString(16)}`,
  };
}
