import { BinaryReader } from '@protobuf-ts/runtime';
import { readerError } from '@opentill/chain/reader-error';

const [VARINT, LENGTH_DELIMITED] = [0, 2] as const;
const WIRE_TYPES = 8;

/**
 * What stands before a number, or a truth value: its field's number and its wire type, as one number
 * (https://protobuf.dev/programming-guides/encoding).
 */
export function numberTag(field: number): number {
  return field * WIRE_TYPES + VARINT;
}

/** What stands before a text, bytes, or a message inside. */
export function lengthTag(field: number): number {
  return field * WIRE_TYPES + LENGTH_DELIMITED;
}

/**
 * All texts that are looked at are of ASCII; what is in one beside that is some other sign, which none of them has. Twelve of each
 * transaction are read so: as the library does it, by a decoder of UTF-8 and a view of the bytes for each, that took most of the time.
 */
class AsciiReader extends BinaryReader {
  readonly #bytes: Buffer;

  constructor(bytes: Uint8Array) {
    super(bytes);
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  override string(): string {
    const end = endOfInner(this);
    const text = this.#bytes.toString('latin1', this.pos, end);
    this.pos = end;
    return text;
  }
}

/** Reads a whole message by `read`. Throws INCONSISTENT_ANSWER for what is none. */
export function readMessage<T>(bytes: Uint8Array, read: (reader: BinaryReader, end: number) => T): T {
  try {
    return read(new AsciiReader(bytes), bytes.length);
  } catch (error) {
    throw readerError('INCONSISTENT_ANSWER', 'bytes that are no message', {}, error);
  }
}

/**
 * Reads the fields up to `end`. `take` reads the value of one by its tag and answers true, or false for one that nobody asked for,
 * which is left out.
 */
export function readFields(reader: BinaryReader, end: number, take: (tag: number) => boolean): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!take(tag)) reader.skip(tag % WIRE_TYPES);
  }
  if (reader.pos !== end) throw new RangeError('a message that ends in the midst of a field');
}

/** Where the message inside ends of which the length stands here. */
export function endOfInner(reader: BinaryReader): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError('a message longer than the one around it');
  return end;
}
