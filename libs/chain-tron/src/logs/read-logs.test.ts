import { expect, test } from 'vitest';
import type { TokenContract } from '@opentill/chain/transfer';
import { TRANSFER_TOPIC } from '../decode-info.ts';
import type { TronSource } from '../tron-sources.ts';
import { readLogs } from './read-logs.ts';

const TOKEN = 'a'.repeat(40);
const TERMS = { tokens: new Map([[TOKEN, 'T' as TokenContract]]), genesisId: '0x1' };
const RANGE = { from: 5, to: 5 };
const ALL = { tokens: [TOKEN] };

function logOf(txHash: string): object {
  return {
    address: `0x${TOKEN}`,
    topics: [`0x${TRANSFER_TOPIC}`, `0x${'1'.padStart(64, '0')}`, `0x${'2'.padStart(64, '0')}`],
    data: `0x${'5'.padStart(64, '0')}`,
    blockHash: `0x${'b'.repeat(64)}`,
    blockNumber: '0x5',
    transactionHash: `0x${txHash.repeat(64)}`,
    logIndex: '0x0',
    removed: false,
  };
}
/** Answers with the chain id and the head, then with these. */
function sourceOf(...lists: readonly (readonly object[])[]): Pick<TronSource, 'call'> {
  const results = ['0x1', '0x5', ...lists];
  return { call: async () => results.map((result, id) => ({ jsonrpc: '2.0', id, result })) };
}

test('keeps the logs of two transactions that a node returns with the same place', async () => {
  const source = sourceOf([logOf('c'), logOf('d')], [logOf('c')]);
  const filters = [{ tokens: [TOKEN] }, { tokens: [TOKEN] }];
  const logs = await readLogs(source, TERMS, { range: RANGE, filters }, {});
  expect(logs.map(({ txHash }) => txHash[0])).toEqual(['c', 'd']);
});

test('rejects an answer to any filter that lacks a canary', async () => {
  const [canary] = await readLogs(sourceOf([logOf('d')]), TERMS, { range: RANGE, filters: [ALL] }, {});
  const question = { range: RANGE, filters: [ALL, { tokens: [TOKEN], to: ['4'] }], canaries: [canary!] };
  const both = sourceOf([logOf('c'), logOf('d')], [logOf('d')]);
  expect(await readLogs(both, TERMS, question, {})).toHaveLength(2);
  await expect(readLogs(sourceOf([logOf('c'), logOf('d')], []), TERMS, question, {})).rejects.toMatchObject({
    code: 'INCONSISTENT_ANSWER',
  });
});

test('filters by both forms of an address, and rejects a list with the same log twice', async () => {
  const asked: unknown[] = [];
  const call: TronSource['call'] = async (one) => {
    asked.push(one);
    return sourceOf([logOf('c'), logOf('c')]).call(one);
  };
  const filters = [{ tokens: [TOKEN], to: ['a'.repeat(40)] }];
  await expect(readLogs({ call }, TERMS, { range: RANGE, filters }, {})).rejects.toMatchObject({
    code: 'INCONSISTENT_ANSWER',
  });
  const forms = [`0x${'0'.repeat(24)}${'a'.repeat(40)}`, `0x${'0'.repeat(22)}41${'a'.repeat(40)}`];
  expect(JSON.stringify(asked)).toContain(JSON.stringify(forms));
});
