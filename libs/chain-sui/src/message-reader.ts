import { BinaryReader } from '@protobuf-ts/runtime';
import { readerError } from '@opentill/chain/reader-error';

const [VARINT, LENGTH_DELIMITED] = [0, 2] as const;
const WIRE_TYPES = 8;

/** Varint: field number and wire type (https://protobuf.dev/programming-guides/encoding). */
export function numberTag(field: number): number {
  return field * WIRE_TYPES + VARINT;
}

export function lengthTag(field: number): number {
  return field * WIRE_TYPES + LENGTH_DELIMITED;
}

/**
 * Reads strings as Latin-1: the library's UTF-8 decoder took most of the decoding time. All strings that are compared
 * are ASCII, and any other character makes a string differ from them.
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

export function readMessage<T>(bytes: Uint8Array, read: (reader: BinaryReader, end: number) => T): T {
  try {
    return read(new AsciiReader(bytes), bytes.length);
  } catch (error) {
    throw readerError('INCONSISTENT_ANSWER', 'malformed protobuf message', {}, error);
  }
}

/** `take` reads the value of a tag and returns true, or returns false to skip it. */
export function readFields(reader: BinaryReader, end: number, take: (tag: number) => boolean): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!take(tag)) reader.skip(tag % WIRE_TYPES);
  }
  if (reader.pos !== end) throw new RangeError('a field crosses the end of its message');
}

export function endOfInner(reader: BinaryReader): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError('an embedded message is longer than its parent');
  return end;
}
