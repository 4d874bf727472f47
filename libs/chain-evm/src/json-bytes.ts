/**
 * Reads JSON directly from bytes, because JSON.parse would allocate unused objects. Each `after…` function reads one
 * value and returns the position after it. It returns NOWHERE for any other value, and for unusual notation: blanks,
 * escapes, upper-case hex. A NOWHERE input gives NOWHERE, so calls can be chained.
 */
export const NOWHERE = -1;

/** `to` is exclusive. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

export type FieldReader<N> = (noted: N, at: number) => number;

export interface Field<N> {
  /** Bytes before its value: brace or comma, and the name. */
  readonly lead: Buffer;
  readonly after: FieldReader<N>;
}

const [QUOTE, BACKSLASH, BLANK, DELETE] = [0x22, 0x5c, 0x20, 0x7f];
const [OBJECT_BEGIN, OBJECT_END, LIST_END, COMMA] = [0x7b, 0x7d, 0x5d, 0x2c];
const WORD_DIGITS = 64;
const SHORT_QUANTITY_DIGITS_MAX = 8;
const NOT_HEX = 0xff;
const HEX_VALUE = new Uint8Array(0x100).fill(NOT_HEX);
for (let value = 0; value < 16; value += 1) HEX_VALUE[value.toString(16).charCodeAt(0)] = value;

export const ascii = (text: string): Buffer => Buffer.from(text, 'latin1');

const HEX_BEGIN = ascii('"0x');
const RESULT_LIST = ascii('"result":[');
const PLAIN_VALUES = ['false', 'true', 'null'].map(ascii);

export function afterLiteral(bytes: Buffer, at: number, literal: Buffer): number {
  const end = at + literal.length;
  if (at < 0 || end > bytes.length) return NOWHERE;
  for (let place = 0; place < literal.length; place += 1)
    if (bytes[at + place] !== literal[place]) return NOWHERE;
  return end;
}

export function afterHex(bytes: Buffer, at: number, digits: number): number {
  const end = at + digits;
  if (at < 0 || end > bytes.length) return NOWHERE;
  let seen = 0;
  for (let place = at; place < end; place += 1) seen |= HEX_VALUE[bytes[place] ?? 0] ?? NOT_HEX;
  return seen < NOT_HEX ? end : NOWHERE;
}

export function afterWord(bytes: Buffer, at: number): number {
  const end = afterHex(bytes, afterLiteral(bytes, at, HEX_BEGIN), WORD_DIGITS);
  return end !== NOWHERE && bytes[end] === QUOTE ? end + 1 : NOWHERE;
}

export function afterShortQuantity(bytes: Buffer, at: number): number {
  const begin = afterLiteral(bytes, at, HEX_BEGIN);
  if (begin === NOWHERE) return NOWHERE;
  let end = begin;
  while (end < bytes.length && (HEX_VALUE[bytes[end] ?? 0] ?? NOT_HEX) < NOT_HEX) end += 1;
  const isShort = end > begin && end <= begin + SHORT_QUANTITY_DIGITS_MAX;
  return isShort && bytes[end] === QUOTE ? end + 1 : NOWHERE;
}

/** Already checked ASCII, copied so that it does not keep the whole answer in memory. */
export function textAt(bytes: Buffer, at: number, length: number): string {
  return bytes.toString('latin1', at, at + length);
}

/** Already checked hex digits; exact up to 13. */
export function numberOfHex(bytes: Buffer, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) value = value * 16 + (HEX_VALUE[bytes[at] ?? 0] ?? 0);
  return value;
}

function afterSimpleValue(bytes: Buffer, at: number): number {
  if (at < 0 || bytes[at] !== QUOTE) {
    for (const value of PLAIN_VALUES) {
      const after = afterLiteral(bytes, at, value);
      if (after !== NOWHERE) return after;
    }
    return NOWHERE;
  }
  for (let place = at + 1; place < bytes.length; place += 1) {
    const byte = bytes[place] ?? 0;
    if (byte === QUOTE) return place + 1;
    if (byte === BACKSLASH || byte < BLANK || byte >= DELETE) return NOWHERE;
  }
  return NOWHERE;
}

/**
 * A simple value without a reader is skipped. Undefined when it is no object, or lacks a field with a reader that is
 * not in `mayLack`.
 */
export function fieldsLike<N extends { readonly bytes: Buffer }>(
  bytes: Buffer,
  at: number,
  readers: Readonly<Record<string, FieldReader<N>>>,
  mayLack: ReadonlySet<string>,
): readonly Field<N>[] | undefined {
  const names = namesIn(bytes.toString('utf8', at, afterObject(bytes, at)));
  if (names === undefined) return undefined;
  if (Object.keys(readers).some((name) => !mayLack.has(name) && !names.includes(name))) return undefined;
  return names.map((name, place) => ({
    lead: ascii(`${place === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    after: Object.hasOwn(readers, name) ? (readers[name] ?? passOver) : passOver,
  }));
}

export function afterFields<N extends { readonly bytes: Buffer }>(
  noted: N,
  from: number,
  fields: readonly Field<N>[],
): number {
  const { bytes } = noted;
  let at = from;
  for (const { lead, after } of fields) {
    at = afterLiteral(bytes, at, lead);
    if (at === NOWHERE) return NOWHERE;
    at = after(noted, at);
    if (at === NOWHERE) return NOWHERE;
  }
  return bytes[at] === OBJECT_END ? at + 1 : NOWHERE;
}

/** Position after the matching closing brace. The caller's parser detects a brace in a string. */
function afterObject(bytes: Buffer, from: number): number {
  let open = 0;
  for (let at = from; at < bytes.length; at += 1) {
    if (bytes[at] === OBJECT_BEGIN) open += 1;
    else if (bytes[at] === OBJECT_END) open -= 1;
    if (open === 0) return at + 1;
  }
  return bytes.length;
}

function namesIn(text: string): readonly string[] | undefined {
  try {
    const object: unknown = JSON.parse(text);
    return typeof object === 'object' && object !== null ? Object.keys(object) : undefined;
  } catch {
    return undefined;
  }
}

const passOver = ({ bytes }: { readonly bytes: Buffer }, at: number): number => afterSimpleValue(bytes, at);

/**
 * `read` receives the position of a list's first element and returns that of its closing bracket; empty lists too.
 * Undefined when a list cannot be read.
 */
export function readResultLists(
  bytes: Buffer,
  read: (at: number) => number,
): readonly ByteRange[] | undefined {
  const lists: ByteRange[] = [];
  for (let found = bytes.indexOf(RESULT_LIST); found !== -1;) {
    const from = found + RESULT_LIST.length - 1;
    const end = read(from + 1);
    if (end === NOWHERE || bytes[end] !== LIST_END) return undefined;
    lists.push({ from, to: end + 1 });
    found = bytes.indexOf(RESULT_LIST, end);
  }
  return lists;
}

export function afterElements(bytes: Buffer, from: number, afterElement: (at: number) => number): number {
  if (bytes[from] === LIST_END) return from;
  for (let at = from; ; at += 1) {
    at = afterElement(at);
    if (at === NOWHERE || bytes[at] === LIST_END) return at;
    if (bytes[at] !== COMMA) return NOWHERE;
  }
}
