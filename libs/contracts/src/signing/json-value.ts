import {
  afterOf,
  decodeString,
  endOf,
  findMember,
  kindOf,
  startOf,
  TokenKind,
  type JsonDocument,
} from './json-document.ts';

/** A number as its literal, so that no amount passes through a float. */
export interface JsonNumber {
  readonly lexeme: string;
}

/**
 * An object's members in received order. A Map, because it has no inherited members (a member exists only if it was
 * sent) and keeps integer-like keys in their position, which a plain object does not.
 */
export type JsonObject = ReadonlyMap<string, JsonValue>;

/** The value of a token: as from JSON.parse, except for numbers and objects. */
export type JsonValue = null | boolean | string | JsonNumber | readonly JsonValue[] | JsonObject;

/** Reads a top-level member's value; undefined if there is no such member. Other members are not decoded. */
export function readMember(document: JsonDocument, name: string): JsonValue | undefined {
  const token = findMember(document, name);
  return token === undefined ? undefined : readToken(document, token);
}

/** Reads the whole document. */
export function readEnvelope(document: JsonDocument): JsonObject {
  return readObject(document, 0);
}

/** The text, if the value is a string. */
export function asString(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The literal, if the value is a number. */
export function asNumberLexeme(value: JsonValue | undefined): string | undefined {
  return isNumber(value) ? value.lexeme : undefined;
}

/**
 * The number, if the value is written as an integer (no fraction, no exponent) that a double holds exactly. For times
 * and counts, never for money.
 */
export function asSafeInteger(value: JsonValue | undefined): number | undefined {
  const lexeme = asNumberLexeme(value);
  if (lexeme === undefined || !/^-?\d{1,16}$/.test(lexeme)) return undefined;
  const integer = Number(lexeme);
  if (!Number.isSafeInteger(integer)) return undefined;
  return integer === 0 ? 0 : integer;
}

/** The members, if the value is an object. */
export function asObject(value: JsonValue | undefined): JsonObject | undefined {
  return value instanceof Map ? value : undefined;
}

/** The elements, if the value is an array. */
export function asArray(value: JsonValue | undefined): readonly JsonValue[] | undefined {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : undefined;
}

function isNumber(value: JsonValue | undefined): value is JsonNumber {
  return typeof value === 'object' && value !== null && !(value instanceof Map) && !Array.isArray(value);
}

function readToken(document: JsonDocument, token: number): JsonValue {
  switch (kindOf(document, token)) {
    case TokenKind.object:
      return readObject(document, token);
    case TokenKind.array:
      return readArray(document, token);
    case TokenKind.number:
      return { lexeme: document.bytes.toString('latin1', startOf(document, token), endOf(document, token)) };
    case TokenKind.true:
      return true;
    case TokenKind.false:
      return false;
    case TokenKind.null:
      return null;
    case TokenKind.key:
    case TokenKind.string:
      return decodeString(document, token);
  }
}

function readObject(document: JsonDocument, token: number): JsonObject {
  const members = new Map<string, JsonValue>();
  const end = afterOf(document, token);
  for (let key = token + 1; key < end; key = afterOf(document, key + 1)) {
    members.set(decodeString(document, key), readToken(document, key + 1));
  }
  return members;
}

function readArray(document: JsonDocument, token: number): readonly JsonValue[] {
  const elements: JsonValue[] = [];
  const end = afterOf(document, token);
  for (let element = token + 1; element < end; element = afterOf(document, element)) {
    elements.push(readToken(document, element));
  }
  return elements;
}
