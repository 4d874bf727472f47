import { isUtf8 } from 'node:buffer';
import { GatewayError } from '@opentill/domain/gateway-error';
import { StringTrait, TOKEN_STRIDE, TokenKind, type JsonDocument } from './json-document.ts';
import { readCodePoint, spelledLength, writeUtf8 } from './spelling.ts';

export type TokenizeErrorCode =
  /** The body is not one strict JSON object; `context` holds `offset` (in bytes) and `reason`. Permanent. */
  'BODY_NOT_JSON';

/** Nesting of objects and arrays, including the top-level object. */
export const MAX_JSON_DEPTH = 16;
/** Objects, arrays and their contents, including the top-level object but not keys. */
export const MAX_JSON_VALUES = 4_096;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LETTER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Bytes that end a run of ordinary string bytes: quotation mark, backslash, control character. */
const STOP = 1;

/** Per byte inside a string: `STOP`, `StringTrait.special`, or 0 for bytes that no serialiser escapes. */
const STRING_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH) return STOP;
  if (byte >= 0x7f || "/<>&'=".includes(String.fromCharCode(byte))) return StringTrait.special;
  return 0;
});

/** Bytes that may follow a backslash, except u. */
const SHORT_ESCAPES = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

interface Cursor {
  readonly bytes: Buffer;
  /** One character per byte; slicing it gives comparable keys cheaply. */
  readonly text: string;
  at: number;
  tokens: Int32Array;
  tokenCount: number;
  gaps: Int32Array;
  gapsLength: number;
  values: number;
  scratch: Buffer | undefined;
}

/**
 * Strict: valid UTF-8 without byte order mark, RFC 8259, one top-level object, no duplicate key (compared unescaped),
 * no key `__proto__`, no lone surrogate, bounded depth and size. So a signature covers one meaning for every parser.
 * Linear time; the caller limits the length. @throws GatewayError `BODY_NOT_JSON`
 */
export function tokenizeJson(body: Buffer): JsonDocument {
  if (!isUtf8(body)) refuse(firstInvalidUtf8(body), 'not valid UTF-8');
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) refuse(0, 'byte order mark');
  const cursor: Cursor = {
    bytes: body,
    text: body.toString('latin1'),
    at: 0,
    tokens: new Int32Array(32 * TOKEN_STRIDE),
    tokenCount: 0,
    gaps: new Int32Array(32),
    gapsLength: 0,
    values: 0,
    scratch: undefined,
  };
  skipWhiteSpace(cursor);
  if (body[cursor.at] !== OPEN_BRACE) refuse(cursor.at, 'the top level is not an object');
  readValue(cursor, 1);
  skipWhiteSpace(cursor);
  if (cursor.at !== body.length) refuse(cursor.at, 'text after the object');
  const { bytes, tokens, tokenCount, gaps, gapsLength } = cursor;
  return { bytes, tokens, tokenCount, gaps, gapsLength };
}

function refuse(offset: number, reason: string): never {
  throw new GatewayError<TokenizeErrorCode>('BODY_NOT_JSON', 'The request body is not valid JSON.', {
    retryable: false,
    context: { offset, reason },
  });
}

/** The first byte that decoding with replacement characters changes. */
function firstInvalidUtf8(body: Buffer): number {
  const replaced = Buffer.from(body.toString('utf8'), 'utf8');
  let offset = 0;
  while (replaced[offset] === body[offset]) offset += 1;
  return offset;
}

function openToken(cursor: Cursor, kind: TokenKind, start: number): number {
  const token = cursor.tokenCount;
  const base = token * TOKEN_STRIDE;
  if (base === cursor.tokens.length) {
    const grown = new Int32Array(cursor.tokens.length * 4);
    grown.set(cursor.tokens);
    cursor.tokens = grown;
  }
  cursor.tokens[base] = kind;
  cursor.tokens[base + 1] = start;
  cursor.tokenCount = token + 1;
  return token;
}

function closeToken(cursor: Cursor, token: number): void {
  const base = token * TOKEN_STRIDE;
  cursor.tokens[base + 2] = cursor.at;
  cursor.tokens[base + 3] = cursor.tokenCount;
}

function skipWhiteSpace(cursor: Cursor): void {
  const { bytes } = cursor;
  const start = cursor.at;
  let at = start;
  for (let byte = bytes[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;) {
    at += 1;
    byte = bytes[at];
  }
  if (at === start) return;
  if (cursor.gapsLength === cursor.gaps.length) {
    const grown = new Int32Array(cursor.gaps.length * 4);
    grown.set(cursor.gaps);
    cursor.gaps = grown;
  }
  cursor.gaps[cursor.gapsLength] = start;
  cursor.gaps[cursor.gapsLength + 1] = at;
  cursor.gapsLength += 2;
  cursor.at = at;
}

function readValue(cursor: Cursor, depth: number): void {
  cursor.values += 1;
  if (cursor.values > MAX_JSON_VALUES) refuse(cursor.at, `more than ${MAX_JSON_VALUES} values`);
  const byte = cursor.bytes[cursor.at];
  if (byte === QUOTE) readString(cursor, TokenKind.string);
  else if (byte === OPEN_BRACE) readObject(cursor, depth);
  else if (byte === OPEN_BRACKET) readArray(cursor, depth);
  else if (byte === 0x74) readWord(cursor, TokenKind.true, 'true');
  else if (byte === 0x66) readWord(cursor, TokenKind.false, 'false');
  else if (byte === 0x6e) readWord(cursor, TokenKind.null, 'null');
  else readNumber(cursor);
}

function readObject(cursor: Cursor, depth: number): void {
  if (depth > MAX_JSON_DEPTH) refuse(cursor.at, `nested deeper than ${MAX_JSON_DEPTH}`);
  const token = openToken(cursor, TokenKind.object, cursor.at);
  cursor.at += 1;
  skipWhiteSpace(cursor);
  let only: string | undefined;
  let seen: Set<string> | undefined;
  if (cursor.bytes[cursor.at] === CLOSE_BRACE) cursor.at += 1;
  else {
    for (;;) {
      const start = cursor.at;
      const key = readKey(cursor);
      if (seen !== undefined) {
        if (seen.has(key)) refuse(start, 'duplicate key');
        seen.add(key);
      } else if (only === undefined) only = key;
      else if (only === key) refuse(start, 'duplicate key');
      else seen = new Set([only, key]);
      readValue(cursor, depth + 1);
      if (endsHere(cursor, CLOSE_BRACE)) break;
    }
  }
  closeToken(cursor, token);
}

/** Also reads the colon and white space around it. Returns the key unescaped, one character per byte. */
function readKey(cursor: Cursor): string {
  const start = cursor.at;
  if (cursor.bytes[start] !== QUOTE) refuse(start, 'a key was expected');
  const traits = readString(cursor, TokenKind.key);
  const isEscaped = (traits & StringTrait.escape) !== 0;
  const key = isEscaped ? unescapeKey(cursor, start) : cursor.text.slice(start + 1, cursor.at - 1);
  if (key === '__proto__') refuse(start, 'the key __proto__');
  skipWhiteSpace(cursor);
  if (cursor.bytes[cursor.at] !== COLON) refuse(cursor.at, 'a colon was expected');
  cursor.at += 1;
  skipWhiteSpace(cursor);
  return key;
}

function unescapeKey(cursor: Cursor, start: number): string {
  const { bytes } = cursor;
  const end = cursor.at - 1;
  cursor.scratch ??= Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = start + 1; at < end;) {
    const codePoint = readCodePoint(bytes, at);
    length = writeUtf8(cursor.scratch, length, codePoint);
    at += spelledLength(bytes, at, codePoint);
  }
  return cursor.scratch.toString('latin1', 0, length);
}

function readArray(cursor: Cursor, depth: number): void {
  if (depth > MAX_JSON_DEPTH) refuse(cursor.at, `nested deeper than ${MAX_JSON_DEPTH}`);
  const token = openToken(cursor, TokenKind.array, cursor.at);
  cursor.at += 1;
  skipWhiteSpace(cursor);
  if (cursor.bytes[cursor.at] === CLOSE_BRACKET) cursor.at += 1;
  else {
    do readValue(cursor, depth + 1);
    while (!endsHere(cursor, CLOSE_BRACKET));
  }
  closeToken(cursor, token);
}

/** Reads the separator after an element: true for the closing bracket, false for a comma. */
function endsHere(cursor: Cursor, closing: number): boolean {
  skipWhiteSpace(cursor);
  const byte = cursor.bytes[cursor.at];
  if (byte !== COMMA && byte !== closing) refuse(cursor.at, 'a comma or a closing bracket was expected');
  cursor.at += 1;
  if (byte === closing) return true;
  skipWhiteSpace(cursor);
  return false;
}

function readWord(cursor: Cursor, kind: TokenKind, word: string): void {
  if (!cursor.text.startsWith(word, cursor.at)) refuse(cursor.at, 'a value was expected');
  const token = openToken(cursor, kind, cursor.at);
  cursor.at += word.length;
  closeToken(cursor, token);
}

function readString(cursor: Cursor, kind: TokenKind): number {
  const { bytes } = cursor;
  const start = cursor.at;
  const token = openToken(cursor, kind, start);
  let traits = 0;
  let at = start + 1;
  for (;;) {
    // Past the end both are undefined, which leads to the rejection below.
    const byte = bytes[at] ?? 0;
    const found = STRING_BYTES[byte] ?? STOP;
    if (found !== STOP) {
      traits |= found;
      at += 1;
    } else if (byte === QUOTE) break;
    else if (byte === BACKSLASH) {
      traits |= StringTrait.escape;
      at = skipEscape(bytes, at);
    } else refuse(at, at >= bytes.length ? 'a string without an end' : 'a control character in a string');
  }
  cursor.at = at + 1;
  cursor.tokens[token * TOKEN_STRIDE] = kind | traits;
  closeToken(cursor, token);
  return traits;
}

/** A surrogate pair counts as one escape. */
function skipEscape(bytes: Buffer, at: number): number {
  const letter = bytes[at + 1];
  if (letter !== LETTER_U) {
    if (letter === undefined || SHORT_ESCAPES[letter] === 0) refuse(at, 'an unknown escape');
    return at + 2;
  }
  const unit = readHexUnit(bytes, at);
  if (unit < 0xd800 || unit > 0xdfff) return at + 6;
  const next =
    unit < 0xdc00 && bytes[at + 6] === BACKSLASH && bytes[at + 7] === LETTER_U
      ? readHexUnit(bytes, at + 6)
      : 0;
  if (next < 0xdc00 || next > 0xdfff) refuse(at, 'a lone surrogate');
  return at + 12;
}

function readHexUnit(bytes: Buffer, at: number): number {
  let unit = 0;
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    const byte = bytes[digit] ?? 0;
    const lower = byte | 0x20;
    if (byte >= ZERO && byte <= 0x39) unit = unit * 16 + byte - ZERO;
    else if (lower >= 0x61 && lower <= 0x66) unit = unit * 16 + lower - 0x57;
    else refuse(at, 'an unknown escape');
  }
  return unit;
}

function readNumber(cursor: Cursor): void {
  const { bytes } = cursor;
  const start = cursor.at;
  const token = openToken(cursor, TokenKind.number, start);
  let at = bytes[start] === MINUS ? start + 1 : start;
  if (bytes[at] === ZERO) at += 1;
  else at = skipDigits(bytes, at, start);
  if (bytes[at] === POINT) at = skipDigits(bytes, at + 1, start);
  if (((bytes[at] ?? 0) | 0x20) === 0x65) {
    const sign = bytes[at + 1];
    at = skipDigits(bytes, sign === MINUS || sign === 0x2b ? at + 2 : at + 1, start);
  }
  cursor.at = at;
  closeToken(cursor, token);
}

function skipDigits(bytes: Buffer, from: number, start: number): number {
  let at = from;
  for (let byte = bytes[at] ?? 0; byte >= ZERO && byte <= 0x39; byte = bytes[at] ?? 0) at += 1;
  if (at === from) refuse(start, 'a value was expected');
  return at;
}
