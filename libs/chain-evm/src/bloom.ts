import { keccakOfWord } from './keccak.ts';

const BLOOM_BYTES = 256;
const BLOOM_GRAMMAR = /^0x[0-9a-fA-F]{512}$/;

/** Bits that a value sets (Yellow Paper, section 4.3.1), each 0 to 2047. */
export type BloomBits = readonly [number, number, number];

export function bloomBits(value: string): BloomBits {
  const hash = keccakOfWord(value);
  const bit = (offset: number): number => (((hash[offset] ?? 0) << 8) | (hash[offset + 1] ?? 0)) & 2047;
  return [bit(0), bit(2), bit(4)];
}

export function isBloom(value: unknown): value is string {
  return typeof value === 'string' && BLOOM_GRAMMAR.test(value);
}

/** False is certain, true is not. */
export function bloomMayHold(bloom: string, bits: BloomBits): boolean {
  return bits.every((bit) => {
    const at = 2 + 2 * (BLOOM_BYTES - 1 - (bit >> 3));
    return (Number.parseInt(bloom.slice(at, at + 2), 16) & (1 << (bit & 7))) !== 0;
  });
}

export interface BloomedLog {
  readonly address: string;
  readonly topics: readonly string[];
}

export interface BloomFit {
  /** False: at least one log is missing. */
  readonly isExplained: boolean;
  /** No transaction of the block emitted one of the logs. */
  readonly isExceeded: boolean;
}

export interface BloomCheck {
  /** An address or a topic of a log. `mayBeOutside`: it may be absent from the filter. */
  take(value: string, mayBeOutside?: boolean): void;
  fit(): BloomFit;
}

export function checkBloom(bloom: string): BloomCheck {
  const filter = Buffer.from(bloom.slice(2), 'hex');
  const left = new Uint8Array(filter);
  const known = new Set<string>();
  let isExceeded = false;
  return {
    take(value, mayBeOutside = false) {
      if (known.has(value)) return;
      known.add(value);
      for (const bit of bloomBits(value)) {
        const at = BLOOM_BYTES - 1 - (bit >> 3);
        const mask = 1 << (bit & 7);
        if (!mayBeOutside && ((filter[at] ?? 0) & mask) === 0) isExceeded = true;
        left[at] = (left[at] ?? 0) & ~mask;
      }
    },
    fit: () => ({ isExplained: left.every((byte) => byte === 0), isExceeded }),
  };
}

/** Compares logs with a filter that should contain exactly them; it may also contain `others`. */
export function fitBloom(
  bloom: string,
  logs: Iterable<BloomedLog>,
  others: Iterable<BloomedLog> = [],
): BloomFit {
  const check = checkBloom(bloom);
  const take = ({ address, topics }: BloomedLog, mayBeOutside: boolean): void => {
    check.take(address, mayBeOutside);
    for (const topic of topics) check.take(topic, mayBeOutside);
  };
  for (const log of logs) take(log, false);
  for (const log of others) take(log, true);
  return check.fit();
}

export function isBloomOf(bloom: string, logs: Iterable<BloomedLog>): boolean {
  const { isExplained, isExceeded } = fitBloom(bloom, logs);
  return isExplained && !isExceeded;
}
