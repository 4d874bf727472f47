import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { SuiSource } from '../sui-sources.ts';
import { readCoins } from './read-holdings.ts';

const OWNER = `0x${'a'.repeat(64)}` as Address;
const good = {
  objectId: `0x${'1'.repeat(64)}`,
  version: 7n,
  digest: '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi',
  owner: { kind: 1, address: OWNER },
  balance: 5n,
};

function read(coins: readonly unknown[]) {
  const source = {
    label: 'node',
    ask: () => Promise.resolve({ response: { objects: coins } }),
  } as unknown as Pick<SuiSource, 'ask' | 'label'>;
  return readCoins(source, OWNER, '0x2::sui::SUI' as TokenContract, {});
}

test('reads coins with id, version, digest and balance', async () => {
  expect(await read([good])).toEqual([
    { id: good.objectId, version: '7', digest: good.digest, startVersion: null, balance: 5n },
  ]);
});

/** The node pages its answer. Also returns the number of requested pages. */
async function readPages(pageAt: (place: number) => readonly unknown[] | undefined) {
  let asked = 0;
  const source = {
    label: 'node',
    ask() {
      const objects = pageAt(asked) ?? [];
      asked += 1;
      const hasMore = pageAt(asked) !== undefined;
      return Promise.resolve({
        response: { objects, ...(hasMore && { nextPageToken: Buffer.from('next') }) },
      });
    },
  } as unknown as Pick<SuiSource, 'ask' | 'label'>;
  const coins = await readCoins(source, OWNER, '0x2::sui::SUI' as TokenContract, {});
  return { coins, asked };
}

const coinAt = (place: number, balance: bigint) => ({
  ...good,
  objectId: `0x${place.toString(16).padStart(64, '0')}`,
  balance,
});
const dust = (page: number, balance = 1n) =>
  Array.from({ length: 1_000 }, (_, place) => coinAt(page * 1_000 + place, balance));

test('finds a valuable coin among dust on any page', async () => {
  const pages = [dust(0), [], dust(1, 0n), dust(2), dust(3), [coinAt(9_999, 100n)]];
  const { coins } = await readPages((place) => pages[place]);
  expect(coins).toHaveLength(3_001);
  expect(coins[0]).toMatchObject({ balance: 100n });
});

test.each<readonly [string, number, (page: number) => readonly unknown[]]>([
  ['with coins', 10, (page) => dust(page)],
  ['with empty coins', 10, (page) => dust(page, 0n)],
  ['without coins', 10_000, () => []],
])('endless pages %s are read up to %i pages', async (_, most, pageAt) => {
  expect((await readPages(pageAt)).asked).toBe(most);
});

test.each<readonly [string, Partial<Record<keyof typeof good, unknown>>]>([
  ['a malformed id', { objectId: '0xnone' }],
  ['a short id', { objectId: '0x2' }],
  ['an id with upper-case digits', { objectId: `0x${'A'.repeat(64)}` }],
  ['no id', { objectId: undefined }],
  ['a malformed digest', { digest: '0OIl' }],
  ['a digest of another length', { digest: 'abc' }],
  ['no digest', { digest: undefined }],
  ['no version', { version: undefined }],
  ['no balance', { balance: undefined }],
])('rejects a coin with %s as a fault of the node', async (_, wrong) => {
  // An error of another type would count as a programming error and stop reading all addresses.
  await expect(read([good, { ...good, ...wrong }])).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
});
