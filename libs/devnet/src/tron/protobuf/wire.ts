import { messageSchema, type Field } from './schema.ts';

type Fields = Record<string, unknown>;

const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
const WIRE_BYTES = 2;
const WIRE_FIXED32 = 5;

/** The bytes of a message: fields in the order of their numbers, proto3's defaults left out, as java-tron writes it. */
export function encodeMessage(type: string, message: object): Uint8Array {
  const out: number[] = [];
  writeMessage(type, message as Fields, out);
  return Uint8Array.from(out);
}

function writeMessage(type: string, message: Fields, out: number[]): void {
  for (const field of messageSchema(type).fields) {
    const value = message[field.name];
    if (value === undefined || value === null) continue;
    if (field.repeated) for (const item of value as readonly unknown[]) writeField(field, item, out);
    else if (field.kind === 'message' || !isDefault(value)) writeField(field, value, out);
  }
}

function isDefault(value: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return value === 0 || value === 0n || value === false || value === '';
}

function writeField(field: Field, value: unknown, out: number[]): void {
  const isVarint =
    field.kind === 'int64' || field.kind === 'int32' || field.kind === 'bool' || field.kind === 'enum';
  writeVarint(BigInt((field.number << 3) | (isVarint ? WIRE_VARINT : WIRE_BYTES)), out);
  if (isVarint) {
    writeVarint(BigInt(value as bigint | number | boolean), out);
    return;
  }
  const bytes =
    field.kind === 'message'
      ? encodeMessage(field.type, value as object)
      : field.kind === 'string'
        ? Buffer.from(value as string, 'utf8')
        : (value as Uint8Array);
  writeVarint(BigInt(bytes.length), out);
  for (const byte of bytes) out.push(byte);
}

function writeVarint(value: bigint, out: number[]): void {
  if (value >= 0n && value < 0x80000000n) {
    let small = Number(value);
    for (; small > 127; small >>>= 7) out.push((small & 127) | 128);
    out.push(small);
    return;
  }
  let rest = BigInt.asUintN(64, value); // a negative number takes ten bytes
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  out.push(Number(rest));
}

/** Decodes a message; unknown fields are skipped. Throws an Error on bytes that are none. */
export function decodeMessage<T extends object>(type: string, bytes: Uint8Array): T {
  const { byNumber } = messageSchema(type);
  const message: Fields = {};
  const reader = { bytes, at: 0 };
  while (reader.at < bytes.length) {
    const tag = Number(readVarint(reader));
    const wireType = tag & 7;
    const value = readValue(reader, wireType);
    const field = byNumber.get(tag >>> 3);
    if (field === undefined || value === undefined) continue;
    const decoded = decodeValue(field, value);
    if (field.repeated) ((message[field.name] ??= []) as unknown[]).push(decoded);
    else message[field.name] = decoded;
  }
  return message as T;
}

interface Reader {
  readonly bytes: Uint8Array;
  at: number;
}

function readValue(reader: Reader, wireType: number): bigint | Uint8Array | undefined {
  if (wireType === WIRE_VARINT) return readVarint(reader);
  if (wireType === WIRE_BYTES) return readBytes(reader, Number(readVarint(reader)));
  if (wireType === WIRE_FIXED64 || wireType === WIRE_FIXED32) {
    readBytes(reader, wireType === WIRE_FIXED64 ? 8 : 4);
    return undefined;
  }
  throw new Error('Protocol message tag had invalid wire type.');
}

function readBytes(reader: Reader, length: number): Uint8Array {
  const end = reader.at + length;
  if (!(end <= reader.bytes.length))
    throw new Error('While parsing a protocol message, the input ended unexpectedly.');
  const part = reader.bytes.slice(reader.at, end);
  reader.at = end;
  return part;
}

function readVarint(reader: Reader): bigint {
  let low = 0; // the first 28 bits, which nearly all numbers have enough of
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = nextByte(reader);
    low |= (byte & 127) << shift;
    if (byte < 128) return BigInt(low);
  }
  let value = BigInt(low);
  for (let shift = 28n; shift <= 63n; shift += 7n) {
    const byte = nextByte(reader);
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return BigInt.asIntN(64, value);
  }
  throw new Error('CodedInputStream encountered a malformed varint.');
}

function nextByte(reader: Reader): number {
  const byte = reader.bytes[reader.at++];
  if (byte === undefined) throw new Error('While parsing a protocol message, the input ended unexpectedly.');
  return byte;
}

function decodeValue(field: Field, value: bigint | Uint8Array): unknown {
  if (typeof value === 'bigint') {
    if (field.kind === 'int64') return value;
    if (field.kind === 'int32' || field.kind === 'enum') return Number(value);
    if (field.kind === 'bool') return value !== 0n;
  } else {
    if (field.kind === 'bytes' || field.kind === 'address') return value;
    if (field.kind === 'string') return Buffer.from(value).toString('utf8');
    if (field.kind === 'message') return decodeMessage(field.type, value);
  }
  throw new Error('Protocol message tag had invalid wire type.');
}
