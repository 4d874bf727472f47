import { keccak256 } from 'ethers/crypto';

const BLOOM_BYTES = 256;
const BLOOM_GRAMMAR = /^0x[0-9a-fA-F]{512}$/;

/** The three bits that a value sets in a bloom filter (Yellow Paper, section 4.3.1), each 0 to 2047. */
export type BloomBits = readonly [number, number, number];

/** The bits of an address or a topic, `0x` and hex. */
export function bloomBits(value: string): BloomBits {
  const hash = keccak256(value);
  const bit = (offset: number): number =>
    Number.parseInt(hash.slice(2 + 4 * offset, 6 + 4 * offset), 16) & 2047;
  return [bit(0), bit(1), bit(2)];
}

/** Whether `value` is 256 bytes of hex. */
export function isBloom(value: unknown): value is string {
  return typeof value === 'string' && BLOOM_GRAMMAR.test(value);
}

/** Whether the filter may hold the value: false is certain, true is not. */
export function bloomMayHold(bloom: string, bits: BloomBits): boolean {
  return bits.every((bit) => {
    const at = 2 + 2 * (BLOOM_BYTES - 1 - (bit >> 3));
    return (Number.parseInt(bloom.slice(at, at + 2), 16) & (1 << (bit & 7))) !== 0;
  });
}

/** What goes into a filter. */
export interface BloomedLog {
  readonly address: string;
  readonly topics: readonly string[];
}

/** How a filter and logs go together. */
export interface BloomFit {
  /** Whether the logs set every bit of the filter; false: at least one log is missing. */
  readonly isExplained: boolean;
  /** Whether the filter excludes one of the logs: it is of no transaction of the block. */
  readonly isExceeded: boolean;
}

/** Holds logs against the filter that is made of them. `others` may be in it or not. */
export function fitBloom(
  bloom: string,
  logs: Iterable<BloomedLog>,
  others: Iterable<BloomedLog> = [],
): BloomFit {
  const left = Buffer.from(bloom.slice(2), 'hex');
  const known = new Set<string>();
  let isExceeded = false;
  const take = (values: Iterable<string>, mayBeOutside: boolean): void => {
    for (const value of values) {
      if (known.has(value)) continue;
      known.add(value);
      const bits = bloomBits(value);
      if (!mayBeOutside && !bloomMayHold(bloom, bits)) isExceeded = true;
      for (const bit of bits) {
        const at = BLOOM_BYTES - 1 - (bit >> 3);
        left.writeUInt8(left.readUInt8(at) & ~(1 << (bit & 7)), at);
      }
    }
  };
  for (const log of logs) take([log.address, ...log.topics], false);
  for (const log of others) take([log.address, ...log.topics], true);
  return { isExplained: left.every((byte) => byte === 0), isExceeded };
}

/** Whether the filter is made of these logs and no others, as far as a filter can tell. */
export function isBloomOf(bloom: string, logs: Iterable<BloomedLog>): boolean {
  const { isExplained, isExceeded } = fitBloom(bloom, logs);
  return isExplained && !isExceeded;
}
