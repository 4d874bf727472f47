import { readerError } from '@opentill/chain/reader-error';
import { boundedText } from '@opentill/chain-sources/node-text';

/** Zero, false and empty fields are absent, because proto3 omits them. */
export type Raw = Readonly<Record<string, unknown>>;

const HASH = /^[0-9a-f]{64}$/;

export function malformed(what: string, value: unknown): never {
  throw readerError(
    'INCONSISTENT_ANSWER',
    `${what} is malformed: ${boundedText(shownValue(value).slice(0, 200))}`,
  );
}

export function shownValue(value: unknown): string {
  const text = (_: string, inner: unknown): unknown => (typeof inner === 'bigint' ? `${inner}` : inner);
  return JSON.stringify(value, text) ?? 'nothing';
}

export function objectIn(value: unknown, what: string): Raw {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return malformed(what, value);
  return value as Raw;
}

/** A node answers `{}` if it does not have the requested thing. */
export function isNothing(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
  );
}

export function listIn(value: unknown, what: string): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as readonly unknown[]) : malformed(what, value);
}

export function hashIn(value: unknown, what: string): string {
  return typeof value === 'string' && HASH.test(value) ? value : malformed(what, value);
}

/** Absent means 0. */
export function countIn(value: unknown, what: string): number {
  if (value === undefined) return 0;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : malformed(what, value);
}

/** Exact at any size (see parseAnswer); absent means 0. */
export function sunIn(value: unknown, what: string): bigint {
  if (value === undefined) return 0n;
  if (typeof value === 'bigint' && value >= 0n) return value;
  return BigInt(countIn(value, what));
}
