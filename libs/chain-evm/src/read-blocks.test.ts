import { expect, it } from 'vitest';
import { hexQuantity } from './block-requests.ts';
import { TRANSFER_TOPIC } from './decode.ts';
import { accountOf, logsIn } from './read-blocks.ts';

const TOKEN = `0x${'da'.repeat(20)}`;
const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`;
const header = (height: number): object => ({
  number: hexQuantity(height),
  hash: word(height),
  parentHash: word(height - 1),
  timestamp: '0x65156994',
  logsBloom: `0x${'00'.repeat(256)}`,
  transactions: [],
});
const zeros = (count: number): readonly object[] => {
  const log = {
    address: TOKEN,
    topics: [TRANSFER_TOPIC, word(1), word(2)],
    data: word(0),
    blockNumber: hexQuantity(101),
    blockHash: word(101),
    transactionHash: word(7),
  };
  return Array.from({ length: count }, (_, index) => ({ ...log, logIndex: hexQuantity(index) }));
};
const read = (from: number, logs: readonly object[]) =>
  accountOf(
    { tokens: new Set([TOKEN]) },
    { from, to: 101 },
    { blocks: undefined, logs: { body: Buffer.alloc(0), results: () => [logs, header(101)] } },
  );

it('counts transfers of zero as logs of an answer', () => {
  const account = read(100, zeros(3));
  expect(account.byHeight?.get(101)?.transfers).toEqual([]);
  expect(logsIn(account)).toBe(3);
});

it('does not accept an answer with as many logs as providers return at most', () => {
  const cutOff = zeros(10_000);
  expect(() => read(100, cutOff)).toThrow(expect.objectContaining({ code: 'RPC_RANGE_TOO_LARGE' }));
  expect(read(101, cutOff).byHeight).toBeUndefined();
  // A lower limit is a round number.
  for (const count of [500, 2_000]) {
    expect(() => read(100, zeros(count))).toThrow(expect.objectContaining({ code: 'RPC_RANGE_TOO_LARGE' }));
    expect(read(101, zeros(count)).byHeight).toBeUndefined();
    expect(logsIn(read(100, zeros(count + 1)))).toBe(count + 1);
  }
});
