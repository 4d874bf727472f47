import { refuse } from './refuse.ts';

/** A page of a list and where the next one begins. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly nextCursor: string | null;
}

export const PAGE_SIZE = 50;

/**
 * Keyset paging: rows come in the order of a key that never changes, and a cursor is the key of the last one shown. So
 * what is added or changed meanwhile moves nothing to another page.
 *
 * @param rows up to one more than `limit`, in order
 */
export function pageOf<Row, T>(
  rows: readonly Row[],
  limit: number,
  keyOf: (row: Row) => string | number,
  show: (row: Row) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = rows.length > limit && last !== undefined;
  return {
    data: shown.map(show),
    nextCursor: more ? Buffer.from(String(keyOf(last)), 'utf8').toString('base64url') : null,
  };
}

/** What a cursor of a list of this kind of key looks like. */
export const KEYS = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  number: /^[0-9]{1,15}$/,
  name: /^[A-Za-z0-9_:. -]{1,120}$/,
} as const;

/** The key in a cursor; undefined for the first page. @throws GatewayError CURSOR_INVALID */
export function keyAfter(cursor: string | undefined, kind: keyof typeof KEYS): string | undefined {
  if (cursor === undefined) return undefined;
  const key = Buffer.from(cursor, 'base64url').toString('utf8');
  if (KEYS[kind].test(key)) return key;
  throw refuse(
    'CURSOR_INVALID',
    'Give as cursor what nextCursor of the page before said, and the same filters.',
  );
}

/** Ids are UUIDs of version 7, which begin with their time; those of another process may be this much off. */
const SLACK_MS = 3_600_000;

/** The range of ids made in a time, with slack on both sides: it bounds a look through an index, and decides nothing. */
export function idsMadeIn(
  from: Date | undefined,
  until: Date | undefined,
): { readonly from: string | undefined; readonly until: string | undefined } {
  const at = (ms: number) => {
    const hex = Math.min(Math.max(0, ms), 2 ** 48 - 1)
      .toString(16)
      .padStart(12, '0');
    return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
  };
  return {
    from: from === undefined ? undefined : at(from.getTime() - SLACK_MS),
    until: until === undefined ? undefined : at(until.getTime() + SLACK_MS),
  };
}

/** A moment of the input. */
export function dateOf(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : requiredDate(text);
}

/** @throws GatewayError INPUT_INVALID for a moment that no clock shows, such as a leap second */
export function requiredDate(text: string): Date {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  throw refuse('INPUT_INVALID', 'Give moments as 2026-03-01T12:00:00Z.');
}
