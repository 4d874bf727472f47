import {
  afterOf,
  decodeString,
  endOf,
  kindOf,
  startOf,
  TokenKind,
  type JsonDocument,
} from './json-document.ts';

export type KeyOrder = (left: string, right: string) => number;

/** UTF-16 order: JavaScript's sort and Java's TreeMap, which Jackson and Gson use. */
export const byUtf16Unit: KeyOrder = (left, right) => (left < right ? -1 : 1);

/** Code point order, which is UTF-8 byte order: Python's sort_keys, Go, PHP's ksort of text keys, Rust's BTreeMap. */
export const byCodePoint: KeyOrder = (left, right) => {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at += 1) {
    const difference = rankOfUnit(left.charCodeAt(at)) - rankOfUnit(right.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
};

/** Integer-like keys first, by number: PHP's ksort, and the order of keys in a JavaScript object. */
export const byIntegerFirst: KeyOrder = (left, right) => {
  const leftIsInteger = isIntegerLike(left);
  if (leftIsInteger !== isIntegerLike(right)) return leftIsInteger ? -1 : 1;
  if (leftIsInteger && left.length !== right.length) return left.length - right.length;
  return byUtf16Unit(left, right);
};

/** Surrogates, which encode code points beyond the basic plane, rank after all other units. */
function rankOfUnit(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

function isIntegerLike(key: string): boolean {
  return /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) < 0xffff_ffff;
}

export interface NamedKeyOrder {
  readonly name: string;
  readonly order: KeyOrder;
}

/** Orders that can differ on the keys below the token; none if there are more members than `limit`. */
export function listKeyOrders(
  document: JsonDocument,
  root: number,
  limit: number,
): { readonly members: number; readonly orders: readonly NamedKeyOrder[] } {
  let members = 0;
  let hasSurrogate = false;
  let hasInteger = false;
  const end = afterOf(document, root);
  for (let token = root; token < end; token += 1) {
    if (kindOf(document, token) !== TokenKind.key) continue;
    members += 1;
    if (members > limit) return { members, orders: [] };
    const key = decodeString(document, token);
    hasSurrogate ||= /[\ud800-\udfff]/.test(key);
    hasInteger ||= isIntegerLike(key);
  }
  const orders: NamedKeyOrder[] = [{ name: 'sorted', order: byCodePoint }];
  if (hasSurrogate) orders.push({ name: 'sorted-utf16', order: byUtf16Unit });
  if (hasInteger) orders.push({ name: 'sorted-integers-first', order: byIntegerFirst });
  return { members, orders };
}

/** Byte ranges of a document (start, end, start, end, …) whose concatenation is a text. */
export type Layout = readonly number[];

export function layOut(document: JsonDocument, token: number): Layout {
  return [startOf(document, token), endOf(document, token)];
}

/** A single range if all objects are in the order already. */
export function layOutSorted(document: JsonDocument, token: number, order: KeyOrder): Layout {
  const layout: number[] = [];
  appendSorted(document, token, order, layout);
  return layout;
}

function appendRange(layout: number[], start: number, end: number): void {
  if (start === end) return;
  if (layout.at(-1) === start) layout[layout.length - 1] = end;
  else layout.push(start, end);
}

function appendSorted(document: JsonDocument, token: number, order: KeyOrder, layout: number[]): void {
  const start = startOf(document, token);
  const end = endOf(document, token);
  const kind = kindOf(document, token);
  const children = kind === TokenKind.object || kind === TokenKind.array ? listChildren(document, token) : [];
  const sorted = kind === TokenKind.object ? sortKeys(document, children, order) : children;
  const last = children.at(-1);
  const first = children[0];
  if (first === undefined || last === undefined) {
    appendRange(layout, start, end);
    return;
  }
  // Brackets and the comma after each position stay in place, so that neighbouring members that keep their positions
  // merge into one range.
  appendRange(layout, start, startOf(document, first));
  for (const [place, child] of sorted.entries()) {
    const value = kind === TokenKind.object ? child + 1 : child;
    if (value !== child) appendRange(layout, startOf(document, child), startOf(document, value));
    appendSorted(document, value, order, layout);
    const here = children[place] ?? last;
    const next = children[place + 1];
    if (next !== undefined) appendRange(layout, endOfChild(document, kind, here), startOf(document, next));
  }
  appendRange(layout, endOfChild(document, kind, last), end);
}

function listChildren(document: JsonDocument, token: number): number[] {
  const children: number[] = [];
  const end = afterOf(document, token);
  const step = kindOf(document, token) === TokenKind.object ? 1 : 0;
  for (let child = token + 1; child < end; child = afterOf(document, child + step)) children.push(child);
  return children;
}

function endOfChild(document: JsonDocument, kind: TokenKind, child: number): number {
  return endOf(document, kind === TokenKind.object ? child + 1 : child);
}

function sortKeys(document: JsonDocument, keys: readonly number[], order: KeyOrder): number[] {
  const named = keys.map((key) => ({ key, name: decodeString(document, key) }));
  named.sort((left, right) => order(left.name, right.name));
  return named.map(({ key }) => key);
}
