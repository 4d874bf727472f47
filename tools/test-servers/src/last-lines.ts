import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const TAIL_BYTES = 32_768;

/** Reads at most the last 32 KiB. Empty if the file cannot be read. */
export function readLastLines(file: string, count: number): string {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const size = fstatSync(descriptor).size;
    const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const read = readSync(descriptor, tail, 0, tail.length, size - tail.length);
    return tail.subarray(0, read).toString('utf8').trimEnd().split('\n').slice(-count).join('\n');
  } finally {
    closeSync(descriptor);
  }
}
