import { describe, expect, it } from 'vitest';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { hexQuantity } from './block-requests.ts';
import { sameTransfers, transfersByHeight } from './block-transfers.ts';
import { TRANSFER_TOPIC } from './decode.ts';

const TOKEN = `0x${'da'.repeat(20)}`;
const tokens = new Set([TOKEN]);
const hashOf = (height: number): string => `0x${height.toString(16).padStart(64, '0')}`;
const word = (value: bigint | number): string => `0x${value.toString(16).padStart(64, '0')}`;

const RANGE = { from: 100, to: 102 };

function logAt(height: number, logIndex: number, change: object = {}): object {
  return {
    address: TOKEN,
    blockHash: hashOf(height),
    blockNumber: hexQuantity(height),
    data: word(1_000n + BigInt(logIndex)),
    logIndex: hexQuantity(logIndex),
    removed: false,
    topics: [TRANSFER_TOPIC, word(0xa11ce), word(0xb0b)],
    transactionHash: hashOf(7_000 + logIndex),
    ...change,
  };
}

const usual = [logAt(100, 0), logAt(100, 5), logAt(102, 0), logAt(102, 1)];
const read = (logs: readonly unknown[]): ReturnType<typeof transfersByHeight> =>
  transfersByHeight(tokens, RANGE, logs);
const transfersAt = (logs: readonly unknown[], height: number): readonly CandidateTransfer[] =>
  read(logs).get(height)?.transfers ?? [];

describe('transfersByHeight', () => {
  it('sorts logs by block, with an entry for each block that has some', () => {
    const byHeight = read([...usual].reverse());
    expect([...byHeight].map(([height, { hash }]) => [height, hash])).toEqual([
      [100, hashOf(100)],
      [102, hashOf(102)],
    ]);
    expect([...byHeight.values()].map(({ transfers }) => transfers.length)).toEqual([2, 2]);
    expect(transfersAt(usual, 100)).toEqual([
      {
        txHash: hashOf(7_000),
        blockHash: hashOf(100),
        blockHeight: 100,
        indexInBlock: 0,
        contract: TOKEN,
        from: `0x${'a11ce'.padStart(40, '0')}`,
        to: `0x${'b0b'.padStart(40, '0')}`,
        amountBaseUnits: 1_000n,
      },
      expect.objectContaining({ indexInBlock: 5, amountBaseUnits: 1_005n }),
    ]);
  });

  it.each([1n, 2n ** 64n - 1n, 2n ** 64n, 0xabcdefn * 2n ** 64n, 2n ** 256n - 1n])(
    'decodes an amount of %s',
    (amount) => {
      const [small] = transfersAt([logAt(100, 0, { data: word(amount) })], 100);
      expect(small?.amountBaseUnits).toBe(amount);
    },
  );

  it.each<[string, readonly unknown[]]>([
    ['logs in another order', [...usual].reverse()],
    ['logs with a duplicate', [...usual, usual[1]]],
    ['logs in upper case', usual.map((log) => upperCase(log))],
    ['logs with an NFT of the token', [...usual, logAt(102, 9, { topics: [...fourTopics()], data: '0x' })]],
    [
      'logs with an event of another contract',
      [...usual, logAt(102, 9, { address: `0x${'11'.repeat(20)}` })],
    ],
    ['logs with one without data', [...usual, logAt(102, 9, { data: '0x' })]],
    ['logs with a transfer of zero', [...usual, logAt(102, 9, { data: word(0) })]],
    [
      'logs with a recipient that is not an address',
      [...usual, logAt(102, 9, { topics: [TRANSFER_TOPIC, word(1), word(2n ** 200n)] })],
    ],
  ])('finds the same transfers in %s', (_, logs) => {
    for (const height of [100, 101, 102])
      expect(transfersAt(logs, height)).toEqual(transfersAt(usual, height));
  });

  it.each<[string, unknown]>([
    ['beyond the range', logAt(103, 9)],
    ['before the range', logAt(99, 9)],
    ['of another branch', logAt(102, 9, { blockHash: hashOf(7) })],
    ['with the hash of one block and the height of another', logAt(102, 9, { blockNumber: '0x64' })],
    ['that a reorganisation removed', logAt(102, 9, { removed: true })],
    ['with the index of another', logAt(102, 1, { data: word(5) })],
    ['without topics', logAt(102, 9, { topics: undefined })],
    ['with a topic that is not a word', logAt(102, 9, { topics: [TRANSFER_TOPIC, '0x1', word(2)] })],
    ['with odd data', logAt(102, 9, { data: '0x123' })],
    ['with an amount that is not a number', logAt(102, 9, { data: `${word(0).slice(0, -1)}g` })],
    ['with an amount of fewer digits and spaces', logAt(102, 9, { data: `${word(1).slice(0, -2)}1 ` })],
    ['with letters before the amount', logAt(102, 9, { data: `0xz${word(5).slice(3)}` })],
    ['with an index that is not a number', logAt(102, 9, { logIndex: 'nine' })],
    ['without a transaction', logAt(102, 9, { transactionHash: null })],
    ['that is null', null],
    ['that is a string', 'log'],
  ])('rejects all logs because of one %s', (_, log) => {
    expect(() => read([...usual, log])).toThrow(expect.objectContaining({ code: 'INCONSISTENT_ANSWER' }));
  });
});

function upperCase(log: object): object {
  const upper = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(upper);
    return typeof value === 'string' ? `0x${value.slice(2).toUpperCase()}` : value;
  };
  return Object.fromEntries(Object.entries(log).map(([name, value]) => [name, upper(value)]));
}

function fourTopics(): readonly string[] {
  return [TRANSFER_TOPIC, word(1), word(2), word(3)];
}

describe('sameTransfers', () => {
  const [one, two] = transfersAt(usual, 100);

  it('finds two transfers equal when every field is equal', () => {
    expect(sameTransfers([one!, two!], [{ ...one! }, { ...two! }])).toBe(true);
    expect(sameTransfers([], [])).toBe(true);
  });

  it.each<keyof CandidateTransfer>([
    'txHash',
    'blockHash',
    'indexInBlock',
    'contract',
    'from',
    'to',
    'amountBaseUnits',
  ])('finds two transfers different when %s differs', (field) => {
    const other = {
      ...one!,
      [field]: field === 'amountBaseUnits' ? 1n : field === 'indexInBlock' ? 77 : null,
    };
    expect(sameTransfers([one!], [other])).toBe(false);
  });

  it('finds two lists different when one is longer', () => {
    expect(sameTransfers([one!, two!], [one!])).toBe(false);
    expect(sameTransfers([one!], [one!, two!])).toBe(false);
  });
});
