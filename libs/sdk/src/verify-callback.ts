import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Order, Transaction } from './orders.ts';

/** A sweep of received money to cold storage, as far as it concerns this merchant. Amounts are decimal strings. */
export interface Collect {
  readonly collectAmount: string;
  readonly fee: '0';
  readonly feeRatio: '0';
  readonly reason: string | null;
  readonly transaction: Transaction | null;
}

interface CallbackOf<Type extends string, Data> {
  readonly notifyType: Type;
  /**
   * Of the event, the same on every attempt: callbacks come at least once, so do what follows from one once per nonce.
   */
  readonly nonce: string;
  /** Unix seconds of this attempt. */
  readonly timestamp: number;
  readonly data: Data;
}

/** What the gateway tells, verified. */
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
  | CallbackOf<'COLLECT_PENDING' | 'COLLECT_SUCCESS' | 'COLLECT_FAILED', Collect>;

/** Why a request is no callback to believe. */
export type CallbackErrorCode =
  /** Not a callback's JSON at all. */
  | 'BODY_UNREADABLE'
  /** The headers `webhook-id`, `webhook-timestamp` or `webhook-signature` are missing. */
  | 'SIGNATURE_MISSING'
  /** None of the signatures is by a secret of yours, or the body is not what was signed. */
  | 'SIGNATURE_WRONG'
  /** Signed too long ago, or in the future: a replay, or a clock that is wrong. */
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
  /** The raw body; or what a JSON parser made of it, since a callback is written the way every parser would write it again. */
  readonly body: string | Uint8Array | object;
  /** The request's headers: `Headers`, or names in lower case as Node.js has them. */
  readonly headers: HeaderValues;
}

export interface VerifyOptions {
  /** The webhook secret; while it is being changed, both. */
  readonly secrets: string | readonly string[];
  /** How old or early a callback may be signed. @default 300 */
  readonly toleranceSeconds?: number;
  /** @default the clock of this machine */
  readonly now?: () => Date;
}

/**
 * What a request says, if the gateway sent it: one of its signatures over id, time and the whole body is by one of the secrets
 * (Standard Webhooks 1.0.0). Compared in constant time.
 * @throws CallbackError
 */
export function verifyCallback(request: CallbackRequest, options: VerifyOptions): Callback {
  const { toleranceSeconds = 300, now = () => new Date() } = options;
  const secrets = typeof options.secrets === 'string' ? [options.secrets] : options.secrets;
  if (secrets.length === 0 || secrets.includes('')) throw new TypeError('secrets: none, or an empty one');
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
  if (!isSigned) throw new CallbackError('SIGNATURE_WRONG', 'no signature is by a secret of yours');
  const atSeconds = Number(timestamp);
  if (!(Math.abs(now().getTime() / 1000 - atSeconds) <= toleranceSeconds))
    throw new CallbackError('TIMESTAMP_OUT_OF_RANGE', `signed at ${timestamp}: too long ago, or not yet`);
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
  } catch {
    // Said below.
  }
  throw new CallbackError('BODY_UNREADABLE', 'not JSON');
}

function headerOf(headers: HeaderValues, name: string): string | undefined {
  const value =
    'get' in headers && typeof headers.get === 'function'
      ? (headers.get as (name: string) => string | null)(name)
      : (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A secret written as Standard Webhooks does is base64 behind `whsec_`; any other is its own key. */
function keyOf(secret: string): Buffer | string {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  return encoded === undefined ? secret : Buffer.from(encoded, 'base64');
}

function isEqual(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
