const DIGEST_BYTES = 32;
const CONTINUES = 0x80;
/** Lengths and variants have 32 bits. */
const ULEB_BYTES_MAX = 5;

/** Reads BCS: little-endian integers, ULEB128 lengths and variants. Throws RangeError at the end. */
export class BcsCursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u8(): number {
    const value = this.#bytes.readUInt8(this.#at);
    this.#at += 1;
    return value;
  }

  u64(): bigint {
    const value = this.#bytes.readBigUInt64LE(this.#at);
    this.#at += 8;
    return value;
  }

  uleb(): number {
    let value = 0;
    for (let place = 0; place < ULEB_BYTES_MAX; place += 1) {
      const byte = this.u8();
      value += (byte % CONTINUES) * 2 ** (7 * place);
      if (byte < CONTINUES) return value;
    }
    throw new RangeError('a length has more than 32 bits');
  }

  bytes(): Buffer {
    const length = this.uleb();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('the bytes end too early');
    const value = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return value;
  }

  digest(): Buffer {
    const value = this.bytes();
    if (value.length !== DIGEST_BYTES) throw new RangeError('a digest does not have 32 bytes');
    return value;
  }

  option<T>(read: () => T): T | undefined {
    const variant = this.u8();
    if (variant > 1) throw new RangeError('invalid variant of an option');
    return variant === 0 ? undefined : read();
  }

  vector<T>(read: () => T): T[] {
    const count = this.uleb();
    // An element has at least one byte: a larger count must not allocate memory.
    if (count > this.#bytes.length) throw new RangeError('a vector is longer than the bytes');
    return Array.from({ length: count }, read);
  }
}
