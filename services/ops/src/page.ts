import { opsError } from './ops-error.ts';

export interface Page<T> {
  readonly data: readonly T[];
  readonly nextCursor: string | null;
}

export const PAGE_SIZE = 50;

/** Keyset paging: a cursor is the immutable key of the last row shown. `rows`: up to one more than `limit`. */
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

export const KEYS = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  number: /^[0-9]{1,15}$/,
  name: /^[A-Za-z0-9_:. -]{1,120}$/,
} as const;

/** Undefined for the first page. @throws GatewayError CURSOR_INVALID */
export function keyAfter(cursor: string | undefined, kind: keyof typeof KEYS): string | undefined {
  if (cursor === undefined) return undefined;
  const key = Buffer.from(cursor, 'base64url').toString('utf8');
  if (KEYS[kind].test(key)) return key;
  throw opsError('CURSOR_INVALID', 'Set cursor to nextCursor of the previous page, with the same filters.');
}

/** Ids are UUIDs of version 7. Clocks of the processes that create them may differ by this much. */
const SLACK_MS = 3_600_000;

/** Adds slack on both sides. Only narrows an index scan; exact filters still apply. */
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

export function dateOf(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : requiredDate(text);
}

/** @throws GatewayError INPUT_INVALID, also for a leap second */
export function requiredDate(text: string): Date {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  throw opsError('INPUT_INVALID', 'Give times as 2026-03-01T12:00:00Z.');
}
