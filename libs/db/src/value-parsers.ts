import pg from 'pg';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { DatabaseErrorCode } from './database-error.ts';

const INT8 = 20;
const NUMERIC = 1700;
const INT8_ARRAY = 1016;
const NUMERIC_ARRAY = 1231;

function unreadable(type: string, text: string): GatewayError<DatabaseErrorCode> {
  return new GatewayError('DATABASE_VALUE_UNREADABLE', `${type} ${text} does not fit`, { retryable: false });
}

/** int8 → number. Throws DATABASE_VALUE_UNREADABLE above 2^53 - 1, which ids and heights never reach. */
function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw unreadable('int8', text);
  return value;
}

/** numeric → bigint. Throws DATABASE_VALUE_UNREADABLE for a fraction, because amounts are base units. */
function parseNumeric(text: string): bigint {
  if (!/^-?[0-9]+$/.test(text)) throw unreadable('numeric', text);
  return BigInt(text);
}

function parseArray<T>(parseElement: (text: string) => T): (text: string) => (T | null)[] {
  return (text) => {
    const body = text.slice(1, -1);
    return body === ''
      ? []
      : body.split(',').map((element) => (element === 'NULL' ? null : parseElement(element)));
  };
}

const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [INT8]: parseInt8,
  [NUMERIC]: parseNumeric,
  [INT8_ARRAY]: parseArray(parseInt8),
  [NUMERIC_ARRAY]: parseArray(parseNumeric),
};

/** numeric ↔ bigint, int8 ↔ number, others as in pg (timestamptz ↔ Date). */
export const valueParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format === 'binary' ? undefined : PARSERS[oid]) ??
    (pg.types.getTypeParser(oid, format ?? 'text') as unknown)) as typeof pg.types.getTypeParser,
};
