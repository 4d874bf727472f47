import { types } from 'node:util';

const REDACTED = '[redacted]';
/** `tokens`, `tokenSymbol` and `fencingToken` are not secrets. */
const SECRET_KEY =
  /^(?!fencing_?token$).*(token|secret|passphrase|password|passwd|mnemonic|seed|private_?key|signing_?key|api_?key|authorization|cookie)$/i;
const URL_CREDENTIALS = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*:[^\s/@]*@/gi;
const MAX_DEPTH = 5;
const MAX_ITEMS = 50;
const MAX_TEXT = 4_000;

export function redactText(text: string): string {
  const masked = text.replace(URL_CREDENTIALS, `$1${REDACTED}@`);
  return masked.length > MAX_TEXT ? `${masked.slice(0, MAX_TEXT)}… (${masked.length} characters)` : masked;
}

/** Masks secrets by key name and in URLs. Bigints become text, bytes their length, errors code, context and cause. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`;
  if (depth >= MAX_DEPTH) return '[too deep]';
  if (value instanceof Error || types.isNativeError(value)) return redactError(value, depth);
  if (Array.isArray(value)) return redactList(value, depth);
  if (value instanceof Set) return redactList([...value], depth);
  const entries = value instanceof Map ? [...value].map(([k, v]) => [String(k), v]) : Object.entries(value);
  return redactEntries(entries as [string, unknown][], depth);
}

function redactList(list: readonly unknown[], depth: number): unknown[] {
  const shown = list.slice(0, MAX_ITEMS).map((item) => redact(item, depth + 1));
  return list.length > MAX_ITEMS ? [...shown, `… (${list.length} items)`] : shown;
}

function redactEntries(entries: readonly [string, unknown][], depth: number): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [key, item] of entries.slice(0, MAX_ITEMS)) {
    shown[key] =
      SECRET_KEY.test(key) && item !== undefined && item !== null ? REDACTED : redact(item, depth + 1);
  }
  if (entries.length > MAX_ITEMS) shown['…'] = `${entries.length} fields`;
  return shown;
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  const { code, context } = error as Error & { code?: unknown; context?: unknown };
  return {
    name: error.name,
    message: redactText(error.message),
    ...(code === undefined ? {} : { code: redact(code, depth + 1) }),
    ...(context === undefined ? {} : { context: redact(context, depth + 1) }),
    ...(error.stack === undefined ? {} : { stack: redactText(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) }),
    ...(error instanceof AggregateError ? { errors: redactList(error.errors as unknown[], depth) } : {}),
  };
}
