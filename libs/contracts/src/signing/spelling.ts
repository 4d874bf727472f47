/**
 * Points in which serialisers differ from JSON.stringify; each is a bit. JSON.stringify escapes only the quotation
 * mark, the backslash and control characters, with \b \t \n \f \r and lower-case hex digits.
 */
const Difference = {
  /** `/` as `\/`. */
  slash: 1,
  /** `<`, `>` and `&` as \u003c, \u003e, \u0026. */
  html: 2,
  /** `=` and `'` as \u003d, \u0027. */
  equalsAndApostrophe: 4,
  /** DEL as \u007f. */
  del: 8,
  /** Backspace and form feed as \u0008, \u000c. */
  longBackspace: 16,
  /** U+2028 and U+2029 as \u2028, \u2029. */
  lineSeparators: 32,
  /** U+0080 and above, except U+2028 and U+2029, as \uxxxx, beyond the basic plane as a surrogate pair. */
  nonAscii: 64,
  /** Control characters with upper-case hex digits. */
  upperControl: 128,
  /** U+0080 and above with upper-case hex digits, if escaped at all. */
  upperNonAscii: 256,
} as const;

const ASCII_ONLY = Difference.nonAscii | Difference.lineSeparators;

/** `differences` is a sum of `Difference`. */
export interface Dialect {
  readonly name: string;
  readonly differences: number;
}

/**
 * The most common first; test-vectors/signatures.json records each. The first also covers Python with
 * ensure_ascii=False, the sixth Gson with disableHtmlEscaping and Go from 1.22 on with SetEscapeHTML(false).
 */
export const DIALECTS: readonly Dialect[] = [
  { name: 'javascript', differences: 0 },
  { name: 'python-ascii', differences: ASCII_ONLY | Difference.del },
  { name: 'php', differences: ASCII_ONLY | Difference.slash },
  { name: 'php-unescaped-slashes', differences: ASCII_ONLY },
  { name: 'php-unescaped-unicode', differences: Difference.slash | Difference.lineSeparators },
  { name: 'php-unescaped-slashes-unicode', differences: Difference.lineSeparators },
  { name: 'go', differences: Difference.html | Difference.lineSeparators },
  { name: 'gson', differences: Difference.html | Difference.equalsAndApostrophe | Difference.lineSeparators },
  { name: 'jackson', differences: Difference.upperControl },
  { name: 'jackson-ascii', differences: ASCII_ONLY | Difference.upperControl | Difference.upperNonAscii },
  { name: 'go-1.21', differences: Difference.html | Difference.lineSeparators | Difference.longBackspace },
  { name: 'go-1.21-no-html', differences: Difference.lineSeparators | Difference.longBackspace },
];

/** Maximum bytes of one character: an escaped surrogate pair. */
export const MAX_SPELLED_BYTES = 12;

const LOWER_HEX = Buffer.from('0123456789abcdef', 'latin1');
const UPPER_HEX = Buffer.from('0123456789ABCDEF', 'latin1');
const BACKSLASH = 0x5c;

const SHORT_ESCAPES = Uint8Array.from({ length: 32 }, (_, code) => {
  const at = '\b\t\n\f\r'.indexOf(String.fromCharCode(code));
  return at < 0 ? 0 : 'btnfr'.charCodeAt(at);
});

/** Differences that a text with this character can show; dialects that agree on them spell it identically. */
export function differencesOn(codePoint: number): number {
  if (codePoint >= 0x80) {
    if (codePoint === 0x2028 || codePoint === 0x2029) return Difference.lineSeparators;
    return Difference.nonAscii | (hasHexLetter(codePoint) ? Difference.upperNonAscii : 0);
  }
  if (codePoint < 0x20) {
    if (codePoint === 8 || codePoint === 12) return Difference.longBackspace;
    return SHORT_ESCAPES[codePoint] === 0 && hasHexLetter(codePoint) ? Difference.upperControl : 0;
  }
  return printableDifference(codePoint);
}

function printableDifference(codePoint: number): number {
  switch (codePoint) {
    case 0x2f:
      return Difference.slash;
    case 0x3c:
    case 0x3e:
    case 0x26:
      return Difference.html;
    case 0x3d:
    case 0x27:
      return Difference.equalsAndApostrophe;
    case 0x7f:
      return Difference.del;
    default:
      return 0;
  }
}

/** A surrogate pair always has one. */
function hasHexLetter(codePoint: number): boolean {
  if (codePoint > 0xffff) return true;
  for (let rest = codePoint; rest > 0; rest >>= 4) if ((rest & 15) > 9) return true;
  return false;
}

/** @returns the offset after the character */
export function writeSpelled(target: Uint8Array, at: number, codePoint: number, differences: number): number {
  if (codePoint >= 0x80) {
    const escapes =
      codePoint === 0x2028 || codePoint === 0x2029 ? Difference.lineSeparators : Difference.nonAscii;
    if ((differences & escapes) === 0) return writeUtf8(target, at, codePoint);
    const digits = (differences & Difference.upperNonAscii) === 0 ? LOWER_HEX : UPPER_HEX;
    if (codePoint <= 0xffff) return writeUnit(target, at, codePoint, digits);
    const offset = codePoint - 0x1_0000;
    return writeUnit(
      target,
      writeUnit(target, at, 0xd800 + (offset >> 10), digits),
      0xdc00 + (offset & 0x3ff),
      digits,
    );
  }
  if (codePoint < 0x20) {
    const letter = SHORT_ESCAPES[codePoint] ?? 0;
    const isLong = (codePoint === 8 || codePoint === 12) && (differences & Difference.longBackspace) !== 0;
    if (letter !== 0 && !isLong) return writePair(target, at, letter);
    return writeUnit(
      target,
      at,
      codePoint,
      (differences & Difference.upperControl) === 0 ? LOWER_HEX : UPPER_HEX,
    );
  }
  if (codePoint === 0x22 || codePoint === BACKSLASH) return writePair(target, at, codePoint);
  const difference = printableDifference(codePoint) & differences;
  if (difference === Difference.slash) return writePair(target, at, codePoint);
  if (difference !== 0) return writeUnit(target, at, codePoint, LOWER_HEX);
  target[at] = codePoint;
  return at + 1;
}

function writePair(target: Uint8Array, at: number, letter: number): number {
  target[at] = BACKSLASH;
  target[at + 1] = letter;
  return at + 2;
}

function writeUnit(target: Uint8Array, at: number, unit: number, digits: Uint8Array): number {
  target[at] = BACKSLASH;
  target[at + 1] = 0x75;
  target[at + 2] = digits[unit >> 12] ?? 0;
  target[at + 3] = digits[(unit >> 8) & 15] ?? 0;
  target[at + 4] = digits[(unit >> 4) & 15] ?? 0;
  target[at + 5] = digits[unit & 15] ?? 0;
  return at + 6;
}

/** @returns the offset after the character */
export function writeUtf8(target: Uint8Array, at: number, codePoint: number): number {
  let next = at;
  if (codePoint < 0x80) {
    target[next++] = codePoint;
    return next;
  }
  if (codePoint < 0x800) {
    target[next++] = 0xc0 | (codePoint >> 6);
  } else {
    if (codePoint < 0x1_0000) target[next++] = 0xe0 | (codePoint >> 12);
    else {
      target[next++] = 0xf0 | (codePoint >> 18);
      target[next++] = 0x80 | ((codePoint >> 12) & 63);
    }
    target[next++] = 0x80 | ((codePoint >> 6) & 63);
  }
  target[next++] = 0x80 | (codePoint & 63);
  return next;
}

/** Reads a validated text, raw or escaped. `spelledLength` gives the character's number of bytes. */
export function readCodePoint(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead === BACKSLASH) return readEscaped(bytes, at);
  if (lead < 0x80) return lead;
  const second = (bytes[at + 1] ?? 0) & 63;
  if (lead < 0xe0) return ((lead & 31) << 6) | second;
  const third = (bytes[at + 2] ?? 0) & 63;
  if (lead < 0xf0) return ((lead & 15) << 12) | (second << 6) | third;
  return ((lead & 7) << 18) | (second << 12) | (third << 6) | ((bytes[at + 3] ?? 0) & 63);
}

/** Bytes that `readCodePoint` read at the same offset. */
export function spelledLength(bytes: Uint8Array, at: number, codePoint: number): number {
  if (bytes[at] === BACKSLASH) {
    if (bytes[at + 1] !== 0x75) return 2;
    return codePoint > 0xffff ? 12 : 6;
  }
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint > 0xffff ? 4 : 3;
}

function readEscaped(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1] ?? 0;
  if (letter !== 0x75) {
    const control = SHORT_ESCAPES.indexOf(letter);
    return control < 0 ? letter : control;
  }
  const unit = readUnit(bytes, at);
  if (unit < 0xd800 || unit > 0xdbff) return unit;
  return 0x1_0000 + ((unit - 0xd800) << 10) + readUnit(bytes, at + 6) - 0xdc00;
}

function readUnit(bytes: Uint8Array, at: number): number {
  let unit = 0;
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    const byte = bytes[digit] ?? 0;
    unit = unit * 16 + (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57);
  }
  return unit;
}
