import { afterOf, endOf, startOf, traitsOf, type JsonDocument } from './json-document.ts';
import type { Layout } from './sort-members.ts';
import { differencesOn, MAX_SPELLED_BYTES, readCodePoint, spelledLength, writeSpelled } from './spelling.ts';

/** Places to rewrite: white space, which is dropped, or a character, which is spelled. */
export interface Edits {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** The character, or -1 for white space. */
  readonly codePoints: readonly number[];
  readonly characters: number;
  readonly differences: number;
}

/** Undefined if there is no white space. */
export function withoutWhiteSpace(document: JsonDocument, root: number): Buffer | undefined {
  const { bytes, gaps, gapsLength } = document;
  let from = startOf(document, root);
  const end = endOf(document, root);
  let gap = firstGap(document, from);
  if (gap === gapsLength || (gaps[gap] ?? 0) >= end) return undefined;
  const target = Buffer.allocUnsafe(end - from);
  let at = 0;
  for (; gap < gapsLength; gap += 2) {
    const start = gaps[gap] ?? 0;
    if (start >= end) break;
    at = copyRun(bytes, from, start, target, at);
    from = gaps[gap + 1] ?? 0;
  }
  return target.subarray(0, copyRun(bytes, from, end, target, at));
}

export function findGaps(document: JsonDocument, root: number): Edits {
  const starts: number[] = [];
  const ends: number[] = [];
  const codePoints: number[] = [];
  const end = endOf(document, root);
  for (let at = firstGap(document, startOf(document, root)); at < document.gapsLength; at += 2) {
    const start = document.gaps[at] ?? 0;
    if (start >= end) break;
    starts.push(start);
    ends.push(document.gaps[at + 1] ?? 0);
    codePoints.push(-1);
  }
  return { starts, ends, codePoints, characters: 0, differences: 0 };
}

/** White space, and characters that serialisers may spell in several ways; undefined if more than `limit`. */
export function findEdits(document: JsonDocument, root: number, limit: number): Edits | undefined {
  const gaps = findGaps(document, root);
  if (gaps.starts.length > limit) return undefined;
  const starts: number[] = [];
  const ends: number[] = [];
  const codePoints: number[] = [];
  let gap = 0;
  let differences = 0;
  const pushGapsBefore = (offset: number): void => {
    for (; gap < gaps.starts.length && (gaps.starts[gap] ?? 0) < offset; gap += 1) {
      starts.push(gaps.starts[gap] ?? 0);
      ends.push(gaps.ends[gap] ?? 0);
      codePoints.push(-1);
    }
  };
  const end = afterOf(document, root);
  for (let token = root; token < end; token += 1) {
    if (traitsOf(document, token) === 0) continue;
    pushGapsBefore(startOf(document, token));
    differences |= pushCharacters(document, token, starts, ends, codePoints);
    if (starts.length > limit) return undefined;
  }
  pushGapsBefore(endOf(document, root));
  return { starts, ends, codePoints, characters: codePoints.length - gap, differences };
}

export function writeText(bytes: Buffer, layout: Layout, edits: Edits, differences: number): Buffer {
  const { starts, ends, codePoints } = edits;
  let length = edits.characters * MAX_SPELLED_BYTES;
  for (let range = 0; range < layout.length; range += 2)
    length += (layout[range + 1] ?? 0) - (layout[range] ?? 0);
  const target = Buffer.allocUnsafe(length);
  let at = 0;
  for (let range = 0; range < layout.length; range += 2) {
    let from = layout[range] ?? 0;
    const to = layout[range + 1] ?? 0;
    for (let edit = firstAtOrAfter(starts, from); edit < starts.length; edit += 1) {
      const start = starts[edit] ?? 0;
      if (start >= to) break;
      at = copyRun(bytes, from, start, target, at);
      const codePoint = codePoints[edit] ?? 0;
      if (codePoint >= 0) at = writeSpelled(target, at, codePoint, differences);
      from = ends[edit] ?? 0;
    }
    at = copyRun(bytes, from, to, target, at);
  }
  return target.subarray(0, at);
}

/** @returns the differences that the characters can show */
function pushCharacters(
  document: JsonDocument,
  token: number,
  starts: number[],
  ends: number[],
  codePoints: number[],
): number {
  const { bytes } = document;
  let differences = 0;
  const end = endOf(document, token) - 1;
  for (let at = startOf(document, token) + 1; at < end;) {
    const codePoint = readCodePoint(bytes, at);
    const length = spelledLength(bytes, at, codePoint);
    const difference = differencesOn(codePoint);
    if (difference !== 0 || length > 1) {
      differences |= difference;
      starts.push(at);
      ends.push(at + length);
      codePoints.push(codePoint);
    }
    at += length;
  }
  return differences;
}

/** Below this length a loop is faster than a native copy. */
const NATIVE_COPY_BYTES = 48;

function copyRun(bytes: Buffer, from: number, to: number, target: Buffer, at: number): number {
  if (to - from >= NATIVE_COPY_BYTES) return at + bytes.copy(target, at, from, to);
  let next = at;
  for (let source = from; source < to; source += 1) target[next++] = bytes[source] ?? 0;
  return next;
}

function firstAtOrAfter(sorted: readonly number[], offset: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

function firstGap(document: JsonDocument, offset: number): number {
  let low = 0;
  let high = document.gapsLength >> 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((document.gaps[middle * 2] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return low * 2;
}
