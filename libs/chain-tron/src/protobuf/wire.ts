/*
 * The wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding), as far as TRON's transactions use it:
 * varints of int64, and bytes. Strict: what could be written otherwise than here is no message.
 */

/** A field as it is written: its number, and its value. */
export type WireField =
  | { readonly number: number; readonly varint: bigint }
  | { readonly number: number; readonly bytes: Uint8Array };

const VARINT = 0;
const BYTES = 2;
const INT64_END = 1n << 63n;
/** Bytes of the longest int64 that is not negative. */
const VARINT_BYTES_MAX = 9;

/** A number of 0 to 2^63-1; nothing for 0, which proto3 leaves out. Throws RangeError. */
export function varintField(number: number, value: bigint): Uint8Array {
  if (value < 0n || value >= INT64_END) throw new RangeError(`field ${number} is no int64: ${value}`);
  return value === 0n ? new Uint8Array(0) : concat([tag(number, VARINT), varint(value)]);
}

/** Bytes or an inner message, also empty ones. */
export function bytesField(number: number, value: Uint8Array): Uint8Array {
  return concat([tag(number, BYTES), varint(BigInt(value.length)), value]);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

/** The fields of a message in the order in which they stand. Throws RangeError for anything that is not made of these two. */
export function readFields(message: Uint8Array): readonly WireField[] {
  const fields: WireField[] = [];
  let at = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    for (let place = 0; place < VARINT_BYTES_MAX; place += 1) {
      const byte = message[at];
      if (byte === undefined) throw new RangeError('the message ends in a number');
      at += 1;
      value |= BigInt(byte & 0x7f) << BigInt(7 * place);
      if (byte < 0x80) {
        if (byte === 0 && place > 0) throw new RangeError('a number with zeros before it');
        return value;
      }
    }
    throw new RangeError('a number of more than 63 bits');
  };
  while (at < message.length) {
    const key = readVarint();
    const number = Number(key >> 3n);
    if (number === 0) throw new RangeError('a field without a number');
    const value = readVarint();
    if (Number(key & 7n) === VARINT) {
      fields.push({ number, varint: value });
    } else if (Number(key & 7n) === BYTES) {
      if (value > BigInt(message.length - at))
        throw new RangeError(`field ${number} is longer than the message`);
      fields.push({ number, bytes: message.subarray(at, (at += Number(value))) });
    } else throw new RangeError(`field ${number} is neither a number nor bytes`);
  }
  return fields;
}

/** Takes fields by their numbers; each at most once, unless it is asked for as a list. */
export interface FieldTaker {
  varint(number: number): bigint;
  bytes(number: number): Uint8Array;
  /** All of that number, in order. */
  list(number: number): readonly Uint8Array[];
  /** Throws RangeError when a field is left that was not asked for. */
  end(): void;
}

/** What is absent is 0 or empty, as in proto3. Throws RangeError for a field of another kind, or one that stands twice. */
export function takeFields(message: Uint8Array): FieldTaker {
  const left = [...readFields(message)];
  const take = (number: number): readonly WireField[] => {
    const found = left.filter((field) => field.number === number);
    for (const field of found) left.splice(left.indexOf(field), 1);
    return found;
  };
  const one = (number: number): WireField | undefined => {
    const found = take(number);
    if (found.length > 1) throw new RangeError(`field ${number} stands twice`);
    return found[0];
  };
  const bytesOf = (field: WireField): Uint8Array => {
    if ('bytes' in field) return field.bytes;
    throw new RangeError(`field ${field.number} is a number`);
  };
  return {
    varint(number) {
      const field = one(number);
      if (field === undefined) return 0n;
      if ('varint' in field) return field.varint;
      throw new RangeError(`field ${number} is bytes`);
    },
    bytes(number) {
      const field = one(number);
      return field === undefined ? new Uint8Array(0) : bytesOf(field);
    },
    list: (number) => take(number).map(bytesOf),
    end() {
      if (left[0] !== undefined) throw new RangeError(`field ${left[0].number} is not known here`);
    },
  };
}

/** What stands before a field: its number, and how it is written. */
export function tag(number: number, kind: number): Uint8Array {
  return varint(BigInt(number) * 8n + BigInt(kind));
}

/** A number of 64 bits, one below 0 as its two's complement. */
export function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
