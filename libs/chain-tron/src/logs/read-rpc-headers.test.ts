import { expect, test } from 'vitest';
import type { Raw } from '../node-value.ts';
import { blockIdOf } from '../protobuf/header.ts';
import type { TronSource } from '../tron-sources.ts';
import { readRpcHeaders } from './read-rpc-headers.ts';

const HEIGHT = 7;
const PARENT = `${'6'.padStart(16, '0')}${'1'.repeat(48)}`;
const WITNESS = '2'.repeat(40);
const ROOT = '3'.repeat(64);
const TIME_SECONDS = 1_700_000_001;

function blockOf(version: number, changes: Raw = {}): object {
  const data = {
    number: HEIGHT,
    parentHash: PARENT,
    txTrieRoot: ROOT,
    witness_address: `41${WITNESS}`,
    timestamp: TIME_SECONDS * 1_000,
    version,
  };
  return {
    number: '0x7',
    hash: `0x${blockIdOf(data, HEIGHT)}`,
    parentHash: `0x${PARENT}`,
    transactionsRoot: `0x${ROOT}`,
    miner: `0x${WITNESS}`,
    stateRoot: '0x',
    timestamp: `0x${TIME_SECONDS.toString(16)}`,
    ...changes,
  };
}
async function read(block: object, versions = [31, 32]) {
  const source = { call: async () => [{ id: 0, result: block }] } as unknown as Pick<TronSource, 'call'>;
  return readRpcHeaders(source, [HEIGHT], versions, {});
}

test('returns a header whose id is that of a known version', async () => {
  const header = { height: HEIGHT, parentHash: PARENT, timeSeconds: TIME_SECONDS, version: 32 };
  expect(await read(blockOf(32))).toMatchObject([header]);
  expect(await read(blockOf(32, { timestamp: `0x${(TIME_SECONDS * 1_000).toString(16)}` }))).toMatchObject([
    header,
  ]);
});

test('leaves out a header that its id does not prove', async () => {
  expect(await read(blockOf(33))).toEqual([]);
  const changed = { parentHash: `0x${PARENT.slice(0, -1)}2` };
  for (const changes of [changed, { timestamp: '0x1' }, { number: '0x8' }, { miner: null }, { hash: '0x' }])
    expect(await read(blockOf(32, changes))).toEqual([]);
});
