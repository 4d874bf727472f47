import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { openNonceMark } from './nonce-mark.ts';

const key = { chain: 'ETH', wallet: '0xaa' as Address } as const;
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nonce-mark-'));
});
afterEach(() => rm(dir, { recursive: true }));

test('keeps the mark across processes and never lowers it', async () => {
  const mark = openNonceMark(dir, key);
  expect(await mark.read()).toBeUndefined();
  await mark.raise(7);
  await mark.raise(3);
  expect(await openNonceMark(dir, key).read()).toBe(7);
  expect(await readdir(dir)).toEqual(['nonce-mark-ETH-0xaa.json']);
});

test('does not lower a mark that another process raised further', async () => {
  const [first, second] = [openNonceMark(dir, key), openNonceMark(dir, key)];
  await first.raise(1);
  await second.raise(9);
  await first.raise(5);
  expect(await openNonceMark(dir, key).read()).toBe(9);
});

test('keeps a separate mark for each wallet of each chain', async () => {
  await openNonceMark(dir, key).raise(4);
  expect(await openNonceMark(dir, { ...key, chain: 'BSC' }).read()).toBeUndefined();
  expect(await openNonceMark(dir, { ...key, wallet: '0xbb' as Address }).read()).toBeUndefined();
});

test.each(['', '{}', '{"nonce":-1}', '{"nonce":"7"}'])(
  'rejects a file that holds no valid mark (%j)',
  async (text) => {
    await writeFile(join(dir, 'nonce-mark-ETH-0xaa.json'), text);
    await expect(openNonceMark(dir, key).read()).rejects.toMatchObject({ code: 'NONCE_MARK_UNREADABLE' });
  },
);

test('rejects when the mark cannot be written', async () => {
  const mark = openNonceMark(join(dir, 'none'), key);
  await expect(mark.raise(1)).rejects.toMatchObject({ code: 'NONCE_MARK_UNWRITABLE' });
});
