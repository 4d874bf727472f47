import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '@opentill/domain/gateway-error';
import { canonicalData, type DataForm, type DataForms } from './data-forms.ts';
import type { JsonDocument } from './json-document.ts';

export type SigningErrorCode =
  /** Any client could sign with an empty key. Permanent: a configuration error. */
  'SIGNING_KEY_EMPTY';

/** `form` is the name of the matching form, for logs. */
export type SignatureVerdict = { readonly ok: true; readonly form: string } | { readonly ok: false };

/**
 * Version 1: `sign` is the hex HMAC-SHA256 of any form of `data`. All forms have the parsed meaning, so a signature
 * never covers another. @throws GatewayError `SIGNING_KEY_EMPTY`
 */
export function verifyDataSignature(input: {
  readonly forms: DataForms;
  readonly token: string;
  /** 64 hex digits of either case; any other text fails. */
  readonly sign: string;
}): SignatureVerdict {
  const { forms, token } = input;
  const expected = parseSign(input.sign);
  if (expected === undefined) return { ok: false };
  const digest = (form: DataForm): Buffer => hmac(token).update(form.bytes).digest();
  const literal = matchAny(forms.literal(), expected, digest);
  return literal.ok ? literal : matchAny(forms.respelled(), expected, digest);
}

/**
 * Version 2: timestamp, nonce, path and `data` (as received or without white space), joined by dots. Unambiguous: the
 * timestamp has no dot, and no other part after `.<path>.` that runs to the end is a JSON object, because from inside a
 * string of `data` to the end the number of quotation marks is odd. @throws GatewayError `SIGNING_KEY_EMPTY`
 */
export function verifyRequestSignature(input: {
  readonly forms: DataForms;
  readonly token: string;
  readonly sign: string;
  /** Literal of the envelope: decimal digits. */
  readonly timestamp: string;
  readonly nonce: string;
  /** The request's path without query, for example `/v1/order/createPayout`. */
  readonly path: string;
}): SignatureVerdict {
  const { forms, token, timestamp, nonce, path } = input;
  const expected = parseSign(input.sign);
  if (expected === undefined) return { ok: false };
  const prefix = `${timestamp}.${nonce}.${path}.`;
  return matchAny(forms.literal(), expected, (form) =>
    hmac(token).update(prefix).update(form.bytes).digest(),
  );
}

/** Lower-case hex HMAC-SHA256. */
export function signText(key: string, text: string | Uint8Array): string {
  return hmac(key).update(text).digest('hex');
}

/** Merchants sign the GET endpoints so. Lower-case hex. */
export function signOrderId(token: string, orderId: string): string {
  return signText(token, orderId);
}

/** Only the gateway signs payment links. Lower-case hex. Not valid for GET status. */
export function signPaymentLink(token: string, orderId: string): string {
  return signText(token, linkMessage(orderId));
}

interface OrderSignature {
  readonly token: string;
  readonly orderId: string;
  readonly sign: string;
}

/** Takes constant time. A text with a brace is no order id, and the messages of all other endpoints contain one. */
export function verifyOrderIdSignature({ token, orderId, sign }: OrderSignature): boolean {
  return !orderId.includes('{') && verifyText(token, orderId, sign);
}

export function verifyPaymentLinkSignature({ token, orderId, sign }: OrderSignature): boolean {
  return verifyText(token, linkMessage(orderId), sign);
}

/** The message of a POST begins with a brace (version 1) or a digit (version 2); an order id has no brace. */
function linkMessage(orderId: string): string {
  return `link{${orderId}}`;
}

function verifyText(token: string, text: string, sign: string): boolean {
  const expected = parseSign(sign);
  return expected !== undefined && timingSafeEqual(hmac(token).update(text).digest(), expected);
}

/** Gives equal hashes for exactly the bodies that one signature covers. @throws RangeError if there is no member `data` */
export function canonicalDataHash(document: JsonDocument): string {
  return createHash('sha256').update(canonicalData(document)).digest('hex');
}

/** Takes constant time over all forms, so that timing leaks no information. */
function matchAny(
  forms: readonly DataForm[],
  expected: Buffer,
  digest: (form: DataForm) => Buffer,
): SignatureVerdict {
  let match: DataForm | undefined;
  for (const form of forms) if (timingSafeEqual(digest(form), expected)) match ??= form;
  return match === undefined ? { ok: false } : { ok: true, form: match.name };
}

function parseSign(sign: string): Buffer | undefined {
  return /^[0-9a-fA-F]{64}$/.test(sign) ? Buffer.from(sign, 'hex') : undefined;
}

function hmac(key: string): ReturnType<typeof createHmac> {
  if (key === '') {
    throw new GatewayError<SigningErrorCode>('SIGNING_KEY_EMPTY', 'The signing key is empty.', {
      retryable: false,
    });
  }
  return createHmac('sha256', key);
}
