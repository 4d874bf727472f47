// Protocol Buffers wire format (protobuf.dev/programming-guides/encoding), for the proof of blocks.

const VARINT = 0;
const BYTES = 2;
const INT64_END = 1n << 63n;

/** Empty for 0, which proto3 omits. Throws RangeError above 2^63-1. */
export function varintField(number: number, value: bigint): Uint8Array {
  if (value < 0n || value >= INT64_END)
    throw new RangeError(`field ${number} is not a valid int64: ${value}`);
  return value === 0n ? new Uint8Array(0) : concat([tag(number, VARINT), varint(value)]);
}

export function bytesField(number: number, value: Uint8Array): Uint8Array {
  return concat([tag(number, BYTES), varint(BigInt(value.length)), value]);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

export function tag(number: number, kind: number): Uint8Array {
  return varint(BigInt(number) * 8n + BigInt(kind));
}

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
