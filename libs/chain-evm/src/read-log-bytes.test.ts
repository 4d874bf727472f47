import { describe, expect, it } from 'vitest';
import { hexQuantity } from './block-requests.ts';
import { transfersByHeight, type TransfersByHeight } from './block-transfers.ts';
import { TRANSFER_TOPIC } from './decode.ts';
import { withoutLists } from './raw-answer.ts';
import { readLogAnswer } from './read-log-answer.ts';
import { readLogBytes } from './read-log-bytes.ts';

const TOKEN = `0x${'da'.repeat(20)}`;
const tokens = new Set([`0x${'ef'.repeat(20)}`, TOKEN]);
const hashOf = (height: number): string => `0x${height.toString(16).padStart(64, '0')}`;
const word = (value: bigint | number): string => `0x${value.toString(16).padStart(64, '0')}`;
const rawHeader = (height: number): object => ({
  number: hexQuantity(height),
  hash: hashOf(height),
  parentHash: hashOf(height - 1),
  timestamp: '0x65156994',
  logsBloom: `0x${'00'.repeat(256)}`,
  transactions: [],
});
const RANGE = { from: 100, to: 102 };

const logAt = (height: number, logIndex: number, change: object = {}): object => ({
  address: TOKEN,
  topics: [TRANSFER_TOPIC, word(0xa11ce), word(0xb0b)],
  data: word(1_000n + BigInt(logIndex)),
  blockNumber: hexQuantity(height),
  transactionHash: hashOf(7_000 + logIndex),
  transactionIndex: '0x1',
  blockHash: hashOf(height),
  blockTimestamp: null,
  logIndex: hexQuantity(logIndex),
  removed: false,
  ...change,
});
const USUAL = [logAt(100, 0), logAt(100, 5), logAt(102, 0), logAt(102, 0x1a)];

const answersWith = (...lists: readonly (readonly unknown[])[]): readonly unknown[] =>
  [...lists, rawHeader(102)].map((result, place) => ({
    jsonrpc: '2.0',
    id: place + 1,
    result,
  }));
const bodyOf = (...lists: readonly (readonly unknown[])[]): Buffer =>
  Buffer.from(JSON.stringify(answersWith(...lists)));

function bySlowPath(body: Buffer): { readonly byHeight: TransfersByHeight; readonly rest: unknown } | Error {
  try {
    const answers = JSON.parse(body.toString('utf8')) as { result: unknown }[];
    const rest = answers.map((answer, place) => (place === 0 ? { ...answer, result: [] } : answer));
    return { byHeight: transfersByHeight(tokens, RANGE, answers[0]!.result as unknown[]), rest };
  } catch (error) {
    return error as Error;
  }
}

describe('readLogBytes', () => {
  it('finds the transfers of each block', () => {
    const body = bodyOf(USUAL);
    const quick = readLogBytes(tokens, RANGE, body)!;
    expect(quick.byHeight).toEqual(transfersByHeight(tokens, RANGE, USUAL));
    expect([...quick.byHeight].map(([height, { transfers }]) => [height, transfers.length])).toEqual([
      [100, 2],
      [102, 2],
    ]);
    expect(JSON.parse(withoutLists(body, quick.lists).toString())).toEqual(answersWith([]));
  });

  it.each([0n, 1n, 2n ** 52n - 1n, 2n ** 52n, 2n ** 64n, 0xabcdefn * 2n ** 64n, 2n ** 256n - 1n])(
    'decodes an amount of %s',
    (amount) => {
      const logs = [logAt(100, 0, { data: word(amount) })];
      const { byHeight } = readLogBytes(tokens, RANGE, bodyOf(logs))!;
      const amounts = byHeight.get(100)!.transfers.map(({ amountBaseUnits }) => amountBaseUnits);
      expect(amounts).toEqual(amount === 0n ? [] : [amount]);
    },
  );

  it('reads several lists, some of them empty', () => {
    const body = bodyOf(USUAL.slice(0, 2), [], USUAL.slice(2));
    const quick = readLogBytes(tokens, RANGE, body)!;
    expect(quick.byHeight).toEqual(transfersByHeight(tokens, RANGE, USUAL));
    expect(JSON.parse(withoutLists(body, quick.lists).toString())).toEqual(answersWith([], [], []));
  });

  it('reads fields in any order, and skips additional ones', () => {
    const turned = USUAL.map((log) => ({ extra: 'x', ...Object.fromEntries(Object.entries(log).reverse()) }));
    expect(readLogBytes(tokens, RANGE, bodyOf(turned))?.byHeight).toEqual(
      transfersByHeight(tokens, RANGE, USUAL),
    );
  });

  it.each<[string, readonly unknown[]]>([
    ['logs in another order', [...USUAL].reverse()],
    ['logs with a duplicate', [...USUAL, USUAL[3]]],
    ['logs with an NFT', [...USUAL, logAt(102, 99, { topics: [TRANSFER_TOPIC, word(1), word(2), word(3)] })]],
    [
      'logs with an event of another contract',
      [...USUAL, logAt(102, 99, { address: `0x${'11'.repeat(20)}` })],
    ],
    ['logs with one without data', [...USUAL, logAt(102, 99, { data: '0x' })]],
    [
      'logs with a recipient that is not an address',
      [...USUAL, logAt(102, 99, { topics: [TRANSFER_TOPIC, word(1), word(2n ** 200n)] })],
    ],
    ['logs with one beyond the range', [...USUAL, logAt(103, 0)]],
    ['logs with one before the range', [logAt(99, 0), ...USUAL]],
    ['logs with one of another branch', [...USUAL, logAt(102, 99, { blockHash: hashOf(7) })]],
    ['logs with the height of another block', [...USUAL, logAt(102, 99, { blockNumber: '0x64' })]],
    ['logs with a removed one', [...USUAL, logAt(102, 99, { removed: true })]],
    ['logs, one of which lacks a field', [...USUAL, { ...logAt(102, 99), data: undefined }]],
    ['logs that all lack a field', USUAL.map((log) => ({ ...log, transactionHash: undefined }))],
    ['logs with escapes in a field', USUAL.map((log) => ({ ...log, more: 'a"b' }))],
    ['logs with a list in a field', USUAL.map((log) => ({ ...log, more: [] }))],
    ['logs, one of which is null', [...USUAL, null]],
  ])('leaves to the slow path %s', (_, logs) => {
    expect(readLogBytes(tokens, RANGE, bodyOf(logs))).toBeUndefined();
  });

  // Whichever byte is lost, added or replaced: the result is that of the slow path, or there is none.
  it.each<[string, (body: Buffer, at: number) => readonly Buffer[]]>([
    [
      'another byte',
      (body, at) => ['0"}]'[at % 4]!, 'a,\\\u0001'[at % 4]!].map((byte) => spliced(body, at, 1, byte)),
    ],
    ['a missing byte', (body, at) => [spliced(body, at, 1, '')]],
    ['an extra byte', (body, at) => ['0",{'[at % 4]!].map((byte) => spliced(body, at, 0, byte))],
  ])('never differs from the slow path for an answer with %s', (_, changes) => {
    const body = bodyOf([logAt(100, 0), logAt(102, 1)]);
    const [begin, end] = [body.indexOf('"id":1'), body.indexOf('"id":2')];
    let read = 0;
    for (let at = begin; at < end; at += 1)
      for (const changed of changes(body, at)) {
        const quick = readLogBytes(tokens, RANGE, changed);
        if (quick === undefined) continue;
        read += 1;
        const slow = bySlowPath(changed);
        if (slow instanceof Error) {
          // Then the rest is not valid JSON or no answer either, so the answer is rejected.
          expect(() => JSON.parse(withoutLists(changed, quick.lists).toString()) as unknown).toThrow();
        } else {
          expect(quick.byHeight).toEqual(slow.byHeight);
          expect(JSON.parse(withoutLists(changed, quick.lists).toString())).toEqual(slow.rest);
        }
      }
    expect(read).toBeGreaterThan(20);
  });
});

function spliced(body: Buffer, at: number, less: number, more: string): Buffer {
  return Buffer.concat([body.subarray(0, at), Buffer.from(more, 'latin1'), body.subarray(at + less)]);
}

describe('readLogAnswer', () => {
  const answerOf = (body: Buffer, calls: string[]) => {
    const resultsOf = (text: Buffer): readonly unknown[] =>
      (JSON.parse(text.toString()) as { result: unknown }[]).map(({ result }) => result);
    return {
      body,
      results() {
        calls.push('results');
        return resultsOf(body);
      },
      resultsWithout(lists: Parameters<typeof withoutLists>[1]) {
        calls.push('resultsWithout');
        return resultsOf(withoutLists(body, lists));
      },
    };
  };

  it.each<[string, readonly unknown[], readonly string[]]>([
    ['from its bytes', USUAL, ['resultsWithout']],
    ['by the slow path where it is unusual', [...USUAL].reverse(), ['results']],
    ['when it is empty', [], ['resultsWithout']],
  ])('reads an answer %s', (_, logs, expected) => {
    const calls: string[] = [];
    const read = readLogAnswer(tokens, RANGE, answerOf(bodyOf(logs), calls));
    expect(read.byHeight).toEqual(transfersByHeight(tokens, RANGE, logs));
    expect(read.others).toEqual([rawHeader(102)]);
    expect(calls).toEqual(expected);
  });

  it('does not accept a list of logs at another position', () => {
    const [logs, last] = answersWith(USUAL);
    const elsewhere = Buffer.from(JSON.stringify([last, logs]));
    expect(() => readLogAnswer(tokens, RANGE, answerOf(elsewhere, []))).toThrow(
      expect.objectContaining({ code: 'INCONSISTENT_ANSWER' }),
    );
  });
});
