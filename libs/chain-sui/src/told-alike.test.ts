import { expect, test } from 'vitest';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
import { createToldAlike } from './told-alike.ts';

/** Reads each as its own text, and counts. */
function reader(bytesMax?: number) {
  const alike = createToldAlike(bytesMax);
  const read: string[] = [];
  const of = (height: number, text: string): unknown =>
    alike.of(height, Buffer.from(text), (bytes) => {
      read.push(bytes.toString());
      return { text: bytes.toString() } as unknown as SuiCheckpoint;
    });
  return { of, read };
}

test('what two sources tell in the same bytes is read once', () => {
  const { of, read } = reader();
  const first = of(1, 'same');
  expect(of(1, 'same')).toBe(first);
  expect(read).toEqual(['same']);
});

test('what differs by a byte, or stands at another height, is read by itself', () => {
  const { of, read } = reader();
  expect([of(1, 'some'), of(1, 'same'), of(2, 'same')]).toEqual([
    { text: 'some' },
    { text: 'same' },
    { text: 'same' },
  ]);
  expect(read).toEqual(['some', 'same', 'same']);
});

test('what cannot be read is not kept', () => {
  const alike = createToldAlike();
  const fail = (): never => {
    throw new RangeError('unreadable');
  };
  for (let times = 0; times < 2; times += 1)
    expect(() => alike.of(1, Buffer.from('bad'), fail)).toThrow('unreadable');
});

test('no more is kept than its bound, the newest of it', () => {
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
