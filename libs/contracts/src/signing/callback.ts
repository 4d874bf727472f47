import { createHmac } from 'node:crypto';
import { GatewayError } from '@opentill/domain/gateway-error';
import { byCodePoint } from './sort-members.ts';
import { signText } from './verify-signature.ts';

export type CallbackErrorCode =
  /** The data contains values that serialisers write differently; `context` holds `path` and `reason`. Permanent. */
  'CALLBACK_DATA_NOT_PORTABLE';

/** Numbers are integers below 2^53; amounts are strings. */
export type CallbackValue =
  null | boolean | number | string | readonly CallbackValue[] | { readonly [key: string]: CallbackValue };

/** Printable ASCII that no serialiser escapes, plus quotation mark and backslash, which all escape identically. */
const PORTABLE_TEXT = /^[ -~]*$/;
const ESCAPED_BY_SOME = /[/<>&'=+`]/;
/** A numeric key would change its position, and in PHP its type. */
const PORTABLE_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Compact, keys sorted at every level, printable ASCII (other characters as \uxxxx). Values that serialisers write
 * differently are rejected, so that a receiver who parses and serialises the data again in JavaScript, Python (with or
 * without sort_keys), PHP, Go or Java gets exactly the signed text. Text beyond ASCII verifies only over the raw bytes,
 * and with the defaults of Python and PHP. Free text must pass `toPortableText` first.
 *
 * @throws GatewayError `CALLBACK_DATA_NOT_PORTABLE`: a number that is not an integer below 2^53, one of / < > & ' = + `
 *   in a string, a lone surrogate, a key that is not an identifier, an empty object, or no JSON value at all
 */
export function serializeCallbackData(data: { readonly [key: string]: CallbackValue }): string {
  return serializeObject(data, 'data');
}

/** White space becomes a space; other characters that a serialiser escapes become `-`. */
export function toPortableText(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').replaceAll(/[^ -~]|[/<>&'=+`]/gu, '-');
}

/** Lower-case hex HMAC-SHA256 of the text of `data`. */
export function signCallback(secret: string, dataText: string): string {
  return signText(secret, dataText);
}

/** Members in the documented order. `dataText` comes from `serializeCallbackData`. */
export function buildCallbackBody(input: {
  readonly dataText: string;
  /** Id of the event: the same on every attempt. */
  readonly nonce: string;
  readonly notifyType: string;
  readonly timestampSeconds: number;
  readonly secret: string;
}): string {
  const { dataText, nonce, notifyType, timestampSeconds, secret } = input;
  const head = JSON.stringify({
    sign: signCallback(secret, dataText),
    timestamp: timestampSeconds,
    nonce,
    notifyType,
  });
  return `${head.slice(0, -1)},"data":${dataText}}`;
}

export interface CallbackHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  /** One signature, or two separated by a space while the secret is being changed. */
  readonly 'webhook-signature': string;
  readonly 'X-Signature': string;
  /** `sign` with the next secret; present only until the secret has changed. */
  readonly 'X-Signature-Next'?: string;
  readonly 'X-Timestamp': string;
}

/**
 * The three headers of Standard Webhooks 1.0.0, signed over `<id>.<timestamp>.<body>`, and the body's `sign` and
 * `timestamp`.
 *
 * While a secret is being changed, the body's `sign` and `X-Signature` use the current one, for receivers who know only
 * that one. `webhook-signature` has one signature of each, as the specification describes; `X-Signature-Next` is the
 * next `sign`.
 *
 * @throws RangeError if the event id contains a dot, which would make the signed text ambiguous
 */
export function callbackHeaders(input: {
  readonly body: string;
  readonly dataText: string;
  readonly eventId: string;
  readonly timestampSeconds: number;
  readonly secret: string;
  /** The next secret, while the two overlap. */
  readonly nextSecret?: string;
}): CallbackHeaders {
  const { body, dataText, eventId, timestampSeconds, secret, nextSecret } = input;
  if (!/^[\w-]+$/.test(eventId))
    throw new RangeError('An event id may contain only letters, digits, _ and -.');
  const timestamp = String(timestampSeconds);
  const signed = `${eventId}.${timestamp}.${body}`;
  const signatures = [secret, ...(nextSecret === undefined ? [] : [nextSecret])].map((key) =>
    createHmac('sha256', standardWebhooksKey(key)).update(signed).digest('base64'),
  );
  return {
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
    'X-Signature': signCallback(secret, dataText),
    ...(nextSecret === undefined ? {} : { 'X-Signature-Next': signCallback(nextSecret, dataText) }),
    'X-Timestamp': timestamp,
  };
}

/**
 * Standard Webhooks: `whsec_` and the key in base64; without that prefix the secret is the key itself. Node accepts a
 * string as key much faster than bytes.
 */
function standardWebhooksKey(secret: string): Buffer | string {
  const encoded = /^whsec_(?<key>[A-Za-z0-9+/]+={0,2})$/.exec(secret)?.groups?.['key'];
  return encoded === undefined ? secret : Buffer.from(encoded, 'base64');
}

function serialize(value: CallbackValue, path: string): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return serializeString(value, path);
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) refuse(path, 'not an integer below 2^53');
    return String(value);
  }
  if (isList(value))
    return `[${value.map((element, index) => serialize(element, `${path}[${index}]`)).join(',')}]`;
  if (typeof value !== 'object') refuse(path, 'not a JSON value');
  return serializeObject(value, path);
}

function serializeObject(data: { readonly [key: string]: CallbackValue }, path: string): string {
  const members = Object.entries(data).sort(([left], [right]) => byCodePoint(left, right));
  if (members.length === 0) refuse(path, 'an empty object, which PHP takes for a list');
  const texts = members.map(([key, value]) => {
    if (!PORTABLE_KEY.test(key) || key === '__proto__')
      refuse(`${path}.${key}`, 'the key is not an identifier');
    return `"${key}":${serialize(value, `${path}.${key}`)}`;
  });
  return `{${texts.join(',')}}`;
}

function serializeString(text: string, path: string): string {
  if (ESCAPED_BY_SOME.test(text)) refuse(path, "one of / < > & ' = + ` in the text");
  if (!text.isWellFormed()) refuse(path, 'a lone surrogate');
  const quoted = JSON.stringify(text);
  if (PORTABLE_TEXT.test(text)) return quoted;
  return quoted.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function isList(value: CallbackValue): value is readonly CallbackValue[] {
  return Array.isArray(value);
}

function refuse(path: string, reason: string): never {
  throw new GatewayError<CallbackErrorCode>(
    'CALLBACK_DATA_NOT_PORTABLE',
    `A callback can't carry ${path}: ${reason}.`,
    {
      retryable: false,
      context: { path, reason },
    },
  );
}
