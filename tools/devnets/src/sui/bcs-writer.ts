import { fromBase58 } from '@mysten/sui/utils';

/** Writes BCS, the encoding that SUI hashes: integers little-endian, lengths and variants as ULEB128. */
export interface BcsWriter {
  u8(value: number): BcsWriter;
  u16(value: number): BcsWriter;
  u32(value: number): BcsWriter;
  u64(value: bigint | number): BcsWriter;
  uleb(value: number): BcsWriter;
  /** Without length prefix. */
  fixed(bytes: Uint8Array): BcsWriter;
  /** With length prefix. */
  bytes(bytes: Uint8Array): BcsWriter;
  text(text: string): BcsWriter;
  /** `0x` and 64 hex digits, for addresses and object ids. */
  address(hex: string): BcsWriter;
  /** Base58 text, written as a vector of 32 bytes. */
  digest(base58: string): BcsWriter;
  option<T>(value: T | undefined, write: (value: T) => void): BcsWriter;
  vector<T>(values: readonly T[], write: (value: T) => void): BcsWriter;
  finish(): Uint8Array;
}

const FIRST_CAPACITY_BYTES = 512;

export function createBcsWriter(): BcsWriter {
  let buffer = Buffer.allocUnsafe(FIRST_CAPACITY_BYTES);
  let length = 0;
  const room = (bytes: number): number => {
    const at = length;
    length += bytes;
    if (length > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, buffer.length * 2));
      buffer.copy(larger, 0, 0, at);
      buffer = larger;
    }
    return at;
  };
  const writer: BcsWriter = {
    u8(value) {
      const at = room(1);
      buffer[at] = value;
      return writer;
    },
    u16(value) {
      const at = room(2);
      buffer.writeUInt16LE(value, at);
      return writer;
    },
    u32(value) {
      const at = room(4);
      buffer.writeUInt32LE(value, at);
      return writer;
    },
    u64(value) {
      const at = room(8);
      buffer.writeBigUInt64LE(BigInt(value), at);
      return writer;
    },
    uleb(value) {
      let left = value;
      for (; left > 0x7f; left = Math.floor(left / 0x80)) writer.u8((left & 0x7f) | 0x80);
      return writer.u8(left);
    },
    fixed(bytes) {
      const at = room(bytes.length);
      buffer.set(bytes, at);
      return writer;
    },
    bytes: (bytes) => writer.uleb(bytes.length).fixed(bytes),
    text: (text) => writer.bytes(Buffer.from(text, 'utf8')),
    address(hex) {
      const at = room(32);
      buffer.write(hex.slice(2), at, 'hex');
      return writer;
    },
    digest: (base58) => writer.bytes(fromBase58(base58)),
    option(value, write) {
      writer.u8(value === undefined ? 0 : 1);
      if (value !== undefined) write(value);
      return writer;
    },
    vector(values, write) {
      writer.uleb(values.length);
      for (const value of values) write(value);
      return writer;
    },
    finish: () => new Uint8Array(buffer.subarray(0, length)),
  };
  return writer;
}
