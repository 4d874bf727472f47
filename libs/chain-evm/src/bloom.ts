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

/**
 * Whether the logs (their addresses and topics) set every bit of the filter. False means that at least one log
 * is missing. Logs that the filter does not know are no objection.
 */
export function bloomIsExplainedBy(
  bloom: string,
  logs: Iterable<{ address: string; topics: readonly string[] }>,
): boolean {
  const left = Buffer.from(bloom.slice(2), 'hex');
  const known = new Set<string>();
  for (const log of logs) {
    for (const value of [log.address, ...log.topics]) {
      if (known.has(value)) continue;
      known.add(value);
      for (const bit of bloomBits(value)) {
        const at = BLOOM_BYTES - 1 - (bit >> 3);
        left.writeUInt8(left.readUInt8(at) & ~(1 << (bit & 7)), at);
      }
    }
  }
  return left.every((byte) => byte === 0);
}
