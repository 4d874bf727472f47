/** A member's key is a separate token, directly before its value. */
export const TokenKind = {
  object: 0,
  array: 1,
  key: 2,
  string: 3,
  number: 4,
  true: 5,
  false: 6,
  null: 7,
} as const;
export type TokenKind = (typeof TokenKind)[keyof typeof TokenKind];

/** Traits of a string that serialisers may spell differently; without a trait it has one spelling. */
export const StringTrait = {
  escape: 8,
  /** Contains a raw / < > & ' = or DEL, or anything beyond ASCII: some serialiser escapes it. */
  special: 16,
} as const;

/** Numbers per token in `JsonDocument.tokens`: kind and traits, start, end, index of the token after it. */
export const TOKEN_STRIDE = 4;

/** Token 0 is the top-level object; offsets are in bytes. Only this file and json-value.ts know the layout. */
export interface JsonDocument {
  /** The received text; not copied, so the caller must not change it. */
  readonly bytes: Buffer;
  readonly tokens: Int32Array;
  readonly tokenCount: number;
  /** Start and end of each run of white space between tokens. */
  readonly gaps: Int32Array;
  /** Twice the number of runs. */
  readonly gapsLength: number;
}

export function kindOf(document: JsonDocument, token: number): TokenKind {
  return ((document.tokens[token * TOKEN_STRIDE] ?? 0) & 7) as TokenKind;
}

/** A sum of `StringTrait`. */
export function traitsOf(document: JsonDocument, token: number): number {
  return (document.tokens[token * TOKEN_STRIDE] ?? 0) & ~7;
}

/** Offset of the token's first byte, for strings the quotation mark. */
export function startOf(document: JsonDocument, token: number): number {
  return document.tokens[token * TOKEN_STRIDE + 1] ?? 0;
}

/** Offset after the token's last byte, for objects and arrays after the closing bracket. */
export function endOf(document: JsonDocument, token: number): number {
  return document.tokens[token * TOKEN_STRIDE + 2] ?? 0;
}

/** Index of the token after this one and its descendants. */
export function afterOf(document: JsonDocument, token: number): number {
  return document.tokens[token * TOKEN_STRIDE + 3] ?? 0;
}

export function decodeString(document: JsonDocument, token: number): string {
  const start = startOf(document, token);
  const end = endOf(document, token);
  if ((traitsOf(document, token) & StringTrait.escape) === 0) {
    return document.bytes.toString('utf8', start + 1, end - 1);
  }
  // The tokenizer has checked this literal; JSON.parse only unescapes it.
  return JSON.parse(document.bytes.toString('utf8', start, end)) as string;
}

export function findMember(document: JsonDocument, name: string): number | undefined {
  const end = afterOf(document, 0);
  for (let key = 1; key < end; key = afterOf(document, key + 1)) {
    if (decodeString(document, key) === name) return key + 1;
  }
  return undefined;
}
