/**
 * Reading JSON from its bytes, where JSON.parse would make objects that nobody needs. Each `after…` looks at one value and
 * gives the place behind it, or NOWHERE when it is anything but that value, written the usual way: without blanks and
 * escapes, hex in lower case. NOWHERE in gives NOWHERE out, so that they can be put one after another.
 */
export const NOWHERE = -1;

/** Bytes of an answer, `to` not among them. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** Gives the place behind the value of a field; notes what it holds in `noted`. */
export type FieldReader<N> = (noted: N, at: number) => number;

/** A field of objects that all have the same fields in the same order. */
export interface Field<N> {
  /** What stands before its value: brace or comma, and the name. */
  readonly lead: Buffer;
  readonly after: FieldReader<N>;
}

const [QUOTE, BACKSLASH, BLANK, DELETE] = [0x22, 0x5c, 0x20, 0x7f];
const [OBJECT_BEGIN, OBJECT_END, LIST_END, COMMA] = [0x7b, 0x7d, 0x5d, 0x2c];
const WORD_DIGITS = 64;
const SHORT_QUANTITY_DIGITS_MAX = 7;
const NOT_HEX = 0xff;
/** The values of lower-case hex digits at their codes. */
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

/** So many hex digits. */
export function afterHex(bytes: Buffer, at: number, digits: number): number {
  const end = at + digits;
  if (at < 0 || end > bytes.length) return NOWHERE;
  let seen = 0;
  for (let place = at; place < end; place += 1) seen |= HEX_VALUE[bytes[place] ?? 0] ?? NOT_HEX;
  return seen < NOT_HEX ? end : NOWHERE;
}

/** A string of `0x` and 64 hex digits. */
export function afterWord(bytes: Buffer, at: number): number {
  const end = afterHex(bytes, afterLiteral(bytes, at, HEX_BEGIN), WORD_DIGITS);
  return end !== NOWHERE && bytes[end] === QUOTE ? end + 1 : NOWHERE;
}

/** A string of `0x` and one to seven hex digits. */
export function afterShortQuantity(bytes: Buffer, at: number): number {
  const begin = afterLiteral(bytes, at, HEX_BEGIN);
  if (begin === NOWHERE) return NOWHERE;
  let end = begin;
  while (end < bytes.length && (HEX_VALUE[bytes[end] ?? 0] ?? NOT_HEX) < NOT_HEX) end += 1;
  const isShort = end > begin && end <= begin + SHORT_QUANTITY_DIGITS_MAX;
  return isShort && bytes[end] === QUOTE ? end + 1 : NOWHERE;
}

/** ASCII that was looked at already, as a string of its own: no part of a longer one that it would keep alive. */
export function textAt(bytes: Buffer, at: number, length: number): string {
  return bytes.toString('latin1', at, at + length);
}

/** Of hex digits that were looked at already; exact up to 13 of them. */
export function numberOfHex(bytes: Buffer, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) value = value * 16 + (HEX_VALUE[bytes[at] ?? 0] ?? 0);
  return value;
}

/** A string of ASCII without escapes, or one of false, true and null. */
export function afterSimpleValue(bytes: Buffer, at: number): number {
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
 * The fields of the object that begins here, in its order, for the objects behind it to be read alike. One that has no
 * reader is passed over when it is a simple value. Undefined when it is no object, or lacks a field that has a reader
 * and is not among `mayLack`.
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

/** Reads an object that has these fields in this order and no others. */
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

/** Behind the brace that closes the one here, if no string holds a brace: whoever reads it finds out. */
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
 * Reads each list that is a result of the answer, one after another: `read` is given the place of its first element and
 * gives the place of the bracket that closes it. Undefined where it finds none. Empty lists are read as well.
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

/** Reads elements up to the bracket that closes their list, which is not read. */
export function afterElements(bytes: Buffer, from: number, afterElement: (at: number) => number): number {
  if (bytes[from] === LIST_END) return from;
  for (let at = from; ; at += 1) {
    at = afterElement(at);
    if (at === NOWHERE || bytes[at] === LIST_END) return at;
    if (bytes[at] !== COMMA) return NOWHERE;
  }
}
