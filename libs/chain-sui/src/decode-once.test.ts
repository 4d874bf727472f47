import { expect, test } from 'vitest';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
import { createDecodeOnce } from './decode-once.ts';

function recordDecoding(bytesMax?: number) {
  const once = createDecodeOnce(bytesMax);
  const read: string[] = [];
  const decode = (height: number, text: string): unknown =>
    once.of(height, Buffer.from(text), (bytes) => {
      read.push(bytes.toString());
      return { text: bytes.toString() } as unknown as SuiCheckpoint;
    });
  return { decode, read };
}

test('decodes identical bytes of two sources only once', () => {
  const { decode, read } = recordDecoding();
  const first = decode(1, 'same');
  expect(decode(1, 'same')).toBe(first);
  expect(read).toEqual(['same']);
});

test('decodes different bytes and other heights separately', () => {
  const { decode, read } = recordDecoding();
  expect([decode(1, 'some'), decode(1, 'same'), decode(2, 'same')]).toEqual([
    { text: 'some' },
    { text: 'same' },
    { text: 'same' },
  ]);
  expect(read).toEqual(['some', 'same', 'same']);
});

test('does not keep bytes that cannot be decoded', () => {
  const once = createDecodeOnce();
  const fail = (): never => {
    throw new RangeError('unreadable');
  };
  for (let times = 0; times < 2; times += 1)
    expect(() => once.of(1, Buffer.from('bad'), fail)).toThrow('unreadable');
});

test('keeps the newest bytes within its limit', () => {
  const { decode, read } = recordDecoding(8);
  decode(1, 'aaaa');
  decode(2, 'bbbb');
  decode(3, 'cccc');
  for (const [height, text] of [
    [3, 'cccc'],
    [2, 'bbbb'],
    [1, 'aaaa'],
  ] as const)
    decode(height, text);
  expect(read).toEqual(['aaaa', 'bbbb', 'cccc', 'aaaa']);
});
