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

/** In received order. A plain object has inherited members and moves integer-like keys; a Map does neither. */
export type JsonObject = ReadonlyMap<string, JsonValue>;

/** As from JSON.parse, except for numbers and objects. */
export type JsonValue = null | boolean | string | JsonNumber | readonly JsonValue[] | JsonObject;

/** Other members are not decoded. */
export function readMember(document: JsonDocument, name: string): JsonValue | undefined {
  const token = findMember(document, name);
  return token === undefined ? undefined : readToken(document, token);
}

export function readEnvelope(document: JsonDocument): JsonObject {
  return readObject(document, 0);
}

export function asString(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function asNumberLexeme(value: JsonValue | undefined): string | undefined {
  return isNumber(value) ? value.lexeme : undefined;
}

/**
 * Written as an integer (no fraction, no exponent) that a double holds exactly. For times and counts, never for money.
 */
export function asSafeInteger(value: JsonValue | undefined): number | undefined {
  const lexeme = asNumberLexeme(value);
  if (lexeme === undefined || !/^-?\d{1,16}$/.test(lexeme)) return undefined;
  const integer = Number(lexeme);
  if (!Number.isSafeInteger(integer)) return undefined;
  return integer === 0 ? 0 : integer;
}

export function asObject(value: JsonValue | undefined): JsonObject | undefined {
  return value instanceof Map ? value : undefined;
}

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
