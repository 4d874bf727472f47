import { expect, test } from 'vitest';
import type { TokenContract } from '@opentill/chain/transfer';
import { TRANSFER_TOPIC } from '../decode-info.ts';
import type { TronSource } from '../tron-sources.ts';
import { readLogs, type LogFilter } from './read-logs.ts';

const TOKEN = 'a'.repeat(40);
const TERMS = { tokens: new Map([[TOKEN, 'T' as TokenContract]]), genesisId: '0x1' };
const RANGE = { from: 5, to: 7 };
const ALL = { tokens: [TOKEN] };
const [BEACON, STRANGER] = ['2'.padStart(40, '0'), '3'.padStart(40, '0')];

function logOf(height: number, txHash = 'c', to = BEACON!): object {
  return {
    address: `0x${TOKEN}`,
    topics: [`0x${TRANSFER_TOPIC}`, `0x${'1'.padStart(64, '0')}`, `0x${to.padStart(64, '0')}`],
    data: `0x${'5'.padStart(64, '0')}`,
    blockHash: `0x${'b'.repeat(64)}`,
    blockNumber: `0x${height}`,
    transactionHash: `0x${txHash.repeat(64)}`,
    logIndex: '0x0',
    removed: false,
  };
}
/** Answers with the chain id and the head, then with these. */
function sourceOf(...lists: readonly (readonly object[])[]): Pick<TronSource, 'call'> {
  const results = ['0x1', '0x8', ...lists];
  return { call: async () => results.map((result, id) => ({ jsonrpc: '2.0', id, result })) };
}
const byRecipient: LogFilter = { tokens: [TOKEN], to: [BEACON!], proves: ({ toHex }) => toHex === BEACON };
const FIVE = [4, 5, 6, 7, 8].map((height) => logOf(height));

test('keeps the logs of two transactions that a node returns with the same place', async () => {
  const source = sourceOf([...FIVE, logOf(5, 'd')], FIVE);
  const { logs } = await readLogs(source, TERMS, { range: RANGE, filters: [ALL, ALL] }, {});
  expect(logs.map(({ height, txHash }) => `${height}${txHash[0]}`)).toEqual(['5c', '5d', '6c', '7c']);
});

test.each([
  ['every block', [4, 5, 6, 7, 8], []],
  ['a block without logs', [4, 5, 7, 8], [6]],
  ['a list that was cut off in its last block', [4, 5, 6, 7], [7]],
  ['a list that begins in its first block', [5, 6, 7, 8], [5]],
  ['no logs', [], [5, 6, 7]],
])('proves blocks by logs of beacons: %s', async (_, heights, expected) => {
  const list = [...heights.map((height) => logOf(height)), logOf(6, 'd', STRANGER), logOf(8, 'd', STRANGER)];
  const question = { range: RANGE, filters: [ALL, byRecipient] };
  const { unproven } = await readLogs(sourceOf(FIVE, list), TERMS, question, {});
  expect([...unproven]).toEqual(expected);
});

test('needs no block above the last one if that is the head', async () => {
  const question = { range: RANGE, filters: [ALL], isToHead: true };
  expect((await readLogs(sourceOf(FIVE.slice(0, 4)), TERMS, question, {})).unproven.size).toBe(0);
  const [chainId, , ...lists] = ['0x1', '0x8', FIVE];
  const behind = { call: async () => [chainId, '0x7', ...lists].map((result, id) => ({ id, result })) };
  await expect(readLogs(behind, TERMS, { ...question, isToHead: false }, {})).rejects.toMatchObject({
    code: 'BLOCK_NOT_FOUND',
  });
});

test('needs a proof of each token', async () => {
  const tokens = new Map([...TERMS.tokens, ['e'.repeat(40), 'E' as TokenContract]]);
  const { unproven } = await readLogs(
    sourceOf(FIVE),
    { ...TERMS, tokens },
    { range: RANGE, filters: [ALL] },
    {},
  );
  expect([...unproven]).toEqual([5, 6, 7]);
});

test('filters by both forms of an address, and rejects a list with the same log twice', async () => {
  const asked: unknown[] = [];
  const call: TronSource['call'] = async (one) => {
    asked.push(one);
    return sourceOf([logOf(5), logOf(5)]).call(one);
  };
  const filters = [{ tokens: [TOKEN], to: ['a'.repeat(40)] }];
  await expect(readLogs({ call }, TERMS, { range: RANGE, filters }, {})).rejects.toMatchObject({
    code: 'INCONSISTENT_ANSWER',
  });
  const forms = [`0x${'0'.repeat(24)}${'a'.repeat(40)}`, `0x${'0'.repeat(22)}41${'a'.repeat(40)}`];
  expect(JSON.stringify(asked)).toContain(JSON.stringify(forms));
});
