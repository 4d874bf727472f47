import { createHmac } from 'node:crypto';
import { GatewayError } from '@opentill/domain/gateway-error';
import { byCodePoint } from './sort-members.ts';
import { signText } from './verify-signature.ts';

/** Codes of this module. */
export type CallbackErrorCode =
  /** The data holds something that serialisers write differently; `context` holds `path` and `reason`. Permanent. */
  'CALLBACK_DATA_NOT_PORTABLE';

/** What a callback's `data` may hold. Numbers are integers below 2^53; amounts are strings. */
export type CallbackValue =
  null | boolean | number | string | readonly CallbackValue[] | { readonly [key: string]: CallbackValue };

/** Printable ASCII that no serialiser escapes; the quotation mark and the backslash, which all escape alike, count too. */
const PORTABLE_TEXT = /^[ -~]*$/;
const ESCAPED_BY_SOME = /[/<>&'=+`]/;
/** A key like a number would change its place, and in PHP its type. */
const PORTABLE_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The text of a callback's `data`: compact, keys sorted at every level, printable ASCII (anything else as \uxxxx). It
 * refuses what some serialiser would write differently, so that a receiver who parses and serialises it again, in
 * JavaScript, Python (with or without sort_keys), PHP, Go or Java, gets the very text that was signed. Beyond ASCII
 * that can't be had: such text verifies over the raw bytes, and with Python's and PHP's defaults. Text somebody typed
 * goes through `toPortableText` first.
 *
 * @throws GatewayError `CALLBACK_DATA_NOT_PORTABLE`: a number that is not an integer below 2^53, one of / < > & ' = + `
 *   in a string, a lone surrogate, a key that is not an identifier, an empty object, or no JSON value at all
 */
export function serializeCallbackData(data: { readonly [key: string]: CallbackValue }): string {
  return serializeObject(data, 'data');
}

/** Text for a callback's string: white space becomes a space, any other character that some serialiser escapes a `-`. */
export function toPortableText(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').replaceAll(/[^ -~]|[/<>&'=+`]/gu, '-');
}

/** Signature of a callback: lowercase hex HMAC-SHA256, keyed with the webhook secret, of the text of `data`. */
export function signCallback(secret: string, dataText: string): string {
  return signText(secret, dataText);
}

/** The body of a callback, its members in the order of the contract. `dataText` comes from `serializeCallbackData`. */
export function buildCallbackBody(input: {
  readonly dataText: string;
  /** The event's id: the same on every attempt. */
  readonly nonce: string;
  readonly notifyType: string;
  /** Time of this attempt, Unix seconds. */
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

/** The headers of one attempt, beside the content type. */
export interface CallbackHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  /** One signature, or two with a space between while the secret is being changed. */
  readonly 'webhook-signature': string;
  readonly 'X-Signature': string;
  /** What `sign` will be once the secret has changed; there only until then. */
  readonly 'X-Signature-Next'?: string;
  readonly 'X-Timestamp': string;
}

/**
 * The headers of a callback: the three of Standard Webhooks 1.0.0, signed over `<id>.<timestamp>.<body>`, and the
 * body's own `sign` and `timestamp` again.
 *
 * While a merchant's secret is being changed there are two. The body's `sign` and `X-Signature` stay those of the one in
 * use, so that a receiver who knows only that one notices nothing; `webhook-signature` has a signature of each, as the
 * specification wants it for rotation, and `X-Signature-Next` is the `sign` of the next one.
 *
 * @throws RangeError when the event id has a point in it, which would make the signed text ambiguous
 */
export function callbackHeaders(input: {
  /** The body as it is sent. */
  readonly body: string;
  readonly dataText: string;
  readonly eventId: string;
  readonly timestampSeconds: number;
  /** The one in use. */
  readonly secret: string;
  /** The one that will be in use, while the two overlap. */
  readonly nextSecret?: string;
}): CallbackHeaders {
  const { body, dataText, eventId, timestampSeconds, secret, nextSecret } = input;
  if (!/^[\w-]+$/.test(eventId)) throw new RangeError('An event id has only letters, digits, _ and -.');
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
 * Standard Webhooks writes a secret as `whsec_` and the key in base64. A secret without that prefix is its own key, as
 * the format `raw` of the specification's libraries has it; Node takes a text for a key much faster than bytes.
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
