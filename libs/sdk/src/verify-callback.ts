import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Order, Transaction, UnmatchedTransfer } from './orders.ts';

/** A sweep of this merchant's money to cold storage. Amounts are decimal strings. */
export interface Collect {
  readonly collectAmount: string;
  readonly fee: '0';
  readonly feeRatio: '0';
  readonly reason: string | null;
  readonly transaction: Transaction | null;
}

/** An order with the payments that arrived and do not count for it, newest first. */
export interface UnmatchedOrder extends Order {
  readonly unmatched: readonly UnmatchedTransfer[];
}

interface CallbackOf<Type extends string, Data> {
  readonly notifyType: Type;
  /** The same on every attempt. Callbacks arrive at least once: process each nonce once. */
  readonly nonce: string;
  /** Unix time of this attempt, in seconds. */
  readonly timestamp: number;
  readonly data: Data;
}

export type Callback =
  | CallbackOf<
      | 'ORDER_PENDING'
      | 'ORDER_PENDING_CONFIRMATION'
      | 'ORDER_SUCCESS'
      | 'ORDER_EXPIRED'
      | 'ORDER_FAILED'
      | 'ORDER_REVERTED',
      Order
    >
  | CallbackOf<'ORDER_UNMATCHED', UnmatchedOrder>
  | CallbackOf<'COLLECT_PENDING' | 'COLLECT_SUCCESS' | 'COLLECT_FAILED', Collect>;

export type CallbackErrorCode =
  | 'BODY_UNREADABLE'
  /** `webhook-id`, `webhook-timestamp` or `webhook-signature`. */
  | 'SIGNATURE_MISSING'
  /** No signature matches a secret, or the body was changed. */
  | 'SIGNATURE_WRONG'
  /** Signed too long ago or in the future: a replay, or a wrong clock. */
  | 'TIMESTAMP_OUT_OF_RANGE';

export class CallbackError extends Error {
  override readonly name = 'CallbackError';
  readonly code: CallbackErrorCode;

  constructor(code: CallbackErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export type HeaderValues =
  { get(name: string): string | null } | { readonly [name: string]: string | readonly string[] | undefined };

export interface CallbackRequest {
  /** Raw body, or the result of a JSON parser: the gateway's JSON survives parsing and serialising unchanged. */
  readonly body: string | Uint8Array | object;
  /** `Headers`, or an object with lower-case names as Node.js has them. */
  readonly headers: HeaderValues;
}

export interface VerifyOptions {
  /** During a rotation, both secrets. */
  readonly secrets: string | readonly string[];
  /** Maximum age of the signature, and difference into the future. @default 300 */
  readonly toleranceSeconds?: number;
  /** @default the system clock */
  readonly now?: () => Date;
}

/** Standard Webhooks 1.0.0: a signature over id, time and body must match one of the secrets. @throws CallbackError */
export function verifyCallback(request: CallbackRequest, options: VerifyOptions): Callback {
  const { toleranceSeconds = 300, now = () => new Date() } = options;
  const secrets = typeof options.secrets === 'string' ? [options.secrets] : options.secrets;
  if (secrets.length === 0 || secrets.includes(''))
    throw new TypeError('secrets: empty list, or an empty secret');
  const text = textOf(request.body);
  const id = headerOf(request.headers, 'webhook-id');
  const timestamp = headerOf(request.headers, 'webhook-timestamp');
  const signatures = headerOf(request.headers, 'webhook-signature');
  if (id === undefined || timestamp === undefined || signatures === undefined)
    throw new CallbackError(
      'SIGNATURE_MISSING',
      'webhook-id, webhook-timestamp or webhook-signature is missing',
    );
  const signed = `${id}.${timestamp}.${text}`;
  const given = signatures.split(' ').filter((signature) => signature.startsWith('v1,'));
  const isSigned = secrets.some((secret) => {
    const expected = `v1,${createHmac('sha256', keyOf(secret)).update(signed).digest('base64')}`;
    return given.some((signature) => isEqual(signature, expected));
  });
  if (!isSigned) throw new CallbackError('SIGNATURE_WRONG', 'no signature matches the webhook secret');
  const atSeconds = Number(timestamp);
  if (!(Math.abs(now().getTime() / 1000 - atSeconds) <= toleranceSeconds))
    throw new CallbackError(
      'TIMESTAMP_OUT_OF_RANGE',
      `signed at ${timestamp}, outside the tolerance: check the clock`,
    );
  return readCallback(text, id, atSeconds);
}

function readCallback(text: string, id: string, timestamp: number): Callback {
  const { notifyType, nonce, data } = parse(text) as Partial<Callback>;
  const isWhole = typeof notifyType === 'string' && nonce === id && typeof data === 'object' && data !== null;
  if (!isWhole) throw new CallbackError('BODY_UNREADABLE', 'not the body of a callback');
  return { notifyType, nonce, timestamp, data } as Callback;
}

function textOf(body: CallbackRequest['body']): string {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString('utf8');
  return JSON.stringify(body);
}

function parse(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {}
  throw new CallbackError('BODY_UNREADABLE', 'not JSON');
}

function headerOf(headers: HeaderValues, name: string): string | undefined {
  const value =
    'get' in headers && typeof headers.get === 'function'
      ? (headers.get as (name: string) => string | null)(name)
      : (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A secret with the prefix `whsec_` is base64 (Standard Webhooks). Any other secret is the key itself. */
function keyOf(secret: string): Buffer | string {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  return encoded === undefined ? secret : Buffer.from(encoded, 'base64');
}

function isEqual(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
