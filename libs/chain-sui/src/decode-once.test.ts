import { expect, test } from 'vitest';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
import { createDecodeOnce } from './decode-once.ts';

function reader(bytesMax?: number) {
  const once = createDecodeOnce(bytesMax);
  const read: string[] = [];
  const of = (height: number, text: string): unknown =>
    once.of(height, Buffer.from(text), (bytes) => {
      read.push(bytes.toString());
      return { text: bytes.toString() } as unknown as SuiCheckpoint;
    });
  return { of, read };
}

test('decodes bytes that two sources return alike only once', () => {
  const { of, read } = reader();
  const first = of(1, 'same');
  expect(of(1, 'same')).toBe(first);
  expect(read).toEqual(['same']);
});

test('decodes different bytes and other heights separately', () => {
  const { of, read } = reader();
  expect([of(1, 'some'), of(1, 'same'), of(2, 'same')]).toEqual([
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
  const { of, read } = reader(8);
  of(1, 'aaaa');
  of(2, 'bbbb');
  of(3, 'cccc');
  for (const [height, text] of [
    [3, 'cccc'],
    [2, 'bbbb'],
    [1, 'aaaa'],
  ] as const)
    of(height, text);
  expect(read).toEqual(['aaaa', 'bbbb', 'cccc', 'aaaa']);
});
