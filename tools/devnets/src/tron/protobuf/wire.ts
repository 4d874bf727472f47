import { messageSchema, type Field } from './schema.ts';

type Fields = Record<string, unknown>;

const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
const WIRE_BYTES = 2;
const WIRE_FIXED32 = 5;

/** Encodes like java-tron: fields sorted by number, without proto3 defaults. */
export function encodeMessage(type: string, message: object): Uint8Array {
  const out: Writer = { buffer: Buffer.allocUnsafe(INITIAL_BYTES), length: 0 };
  writeMessage(type, message as Fields, out);
  return Uint8Array.prototype.slice.call(out.buffer, 0, out.length);
}

const INITIAL_BYTES = 512;

interface Writer {
  buffer: Buffer;
  length: number;
}

function reserve(out: Writer, bytes: number): void {
  if (out.length + bytes <= out.buffer.length) return;
  const grown = Buffer.allocUnsafe(Math.max(out.length + bytes, 2 * out.buffer.length));
  out.buffer.copy(grown, 0, 0, out.length);
  out.buffer = grown;
}

function writeMessage(type: string, message: Fields, out: Writer): void {
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

function writeField(field: Field, value: unknown, out: Writer): void {
  switch (field.kind) {
    case 'int64':
    case 'int32':
    case 'bool':
    case 'enum':
      writeVarint((field.number << 3) | WIRE_VARINT, out);
      writeVarint(typeof value === 'bigint' ? value : Number(value), out);
      return;
    case 'message':
      writeBytes(field, encodeMessage(field.type, value as object), out);
      return;
    case 'string':
      writeBytes(field, Buffer.from(value as string, 'utf8'), out);
      return;
    case 'bytes':
    case 'address':
      writeBytes(field, value as Uint8Array, out);
  }
}

function writeBytes(field: Field, bytes: Uint8Array, out: Writer): void {
  writeVarint((field.number << 3) | WIRE_BYTES, out);
  writeVarint(bytes.length, out);
  reserve(out, bytes.length);
  out.buffer.set(bytes, out.length);
  out.length += bytes.length;
}

const VARINT_MAX_BYTES = 10;

function writeVarint(value: number | bigint, out: Writer): void {
  reserve(out, VARINT_MAX_BYTES);
  if (value >= 0 && value < 0x80000000) {
    let small = Number(value);
    for (; small > 127; small >>>= 7) out.buffer[out.length++] = (small & 127) | 128;
    out.buffer[out.length++] = small;
    return;
  }
  let rest = BigInt.asUintN(64, BigInt(value)); // negative numbers take ten bytes
  for (; rest > 127n; rest >>= 7n) out.buffer[out.length++] = Number(rest & 127n) | 128;
  out.buffer[out.length++] = Number(rest);
}

/** Ignores unknown fields. Throws an Error on invalid bytes. */
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
  let low = 0; // the first 28 bits are enough for nearly all numbers
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

/** Original bytes of a message field, for hashes over them. */
export function fieldBytes(bytes: Uint8Array, fieldNumber: number): Uint8Array {
  const reader = { bytes, at: 0 };
  while (reader.at < bytes.length) {
    const tag = Number(readVarint(reader));
    const value = readValue(reader, tag & 7);
    if (tag >>> 3 === fieldNumber && value instanceof Uint8Array) return value;
  }
  return new Uint8Array();
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
