/** See the Yellow Paper, appendix B. */
export type RlpItem =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'list';
      readonly items: readonly RlpItem[];
      readonly payload: Uint8Array;
      readonly ends: readonly number[];
    };

const SINGLE_MAX = 0x7f;
const BYTES = 0x80;
const LIST = 0xc0;
/** Longer contents are preceded by their length. */
const SHORT_MAX = 55;

/** Decodes exactly one item in its only valid encoding. Throws RangeError otherwise. */
export function readRlp(bytes: Uint8Array): RlpItem {
  const { item, end } = readItem(bytes, 0);
  if (end !== bytes.length) throw new RangeError('RLP: bytes are left over');
  return item;
}

export function wrapRlpList(payload: Uint8Array): Uint8Array {
  if (payload.length <= SHORT_MAX) return Uint8Array.of(LIST + payload.length, ...payload);
  const length = [];
  for (let rest = payload.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  return Uint8Array.of(LIST + SHORT_MAX + length.length, ...length, ...payload);
}

function readItem(bytes: Uint8Array, at: number): { readonly item: RlpItem; readonly end: number } {
  const first = bytes[at];
  if (first === undefined) throw new RangeError('RLP: an item is missing');
  if (first <= SINGLE_MAX) return { item: { kind: 'bytes', bytes: bytes.subarray(at, at + 1) }, end: at + 1 };
  const base = first >= LIST ? LIST : BYTES;
  const { from, end } = contentsOf(bytes, at, first - base);
  const contents = bytes.subarray(from, end);
  if (base === LIST) return { item: readList(contents), end };
  if (contents.length === 1 && (contents[0] ?? 0) <= SINGLE_MAX)
    throw new RangeError('RLP: a single byte below 0x80 is encoded with a length');
  return { item: { kind: 'bytes', bytes: contents }, end };
}

function contentsOf(
  bytes: Uint8Array,
  at: number,
  code: number,
): { readonly from: number; readonly end: number } {
  const lengthBytes = Math.max(0, code - SHORT_MAX);
  const from = at + 1 + lengthBytes;
  const written = bytes.subarray(at + 1, from);
  const length = lengthBytes === 0 ? code : written.reduce((sum, byte) => sum * 256 + byte, 0);
  if (lengthBytes > 0 && (written[0] === 0 || length <= SHORT_MAX))
    throw new RangeError('RLP: a length is not in its shortest form');
  if (!Number.isSafeInteger(length) || from + length > bytes.length)
    throw new RangeError('RLP: an item is longer than the bytes');
  return { from, end: from + length };
}

function readList(payload: Uint8Array): RlpItem {
  const items: RlpItem[] = [];
  const ends: number[] = [];
  for (let at = 0; at < payload.length;) {
    const { item, end } = readItem(payload, at);
    items.push(item);
    ends.push(end);
    at = end;
  }
  return { kind: 'list', items, payload, ends };
}
