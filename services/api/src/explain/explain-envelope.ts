import { createHash } from 'node:crypto';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { DataForms } from '@opentill/contracts/signing/data-forms';
import { asNumberLexeme, type JsonValue } from '@opentill/contracts/signing/json-value';
import { isBlank, quote, wrongType } from './describe-value.ts';

// Details for the envelope of a POST, and for signatures. None of them repeats a signature or a nonce.

const NONCE_FORM = 'a string of 1 to 128 printable ASCII characters';
/** In seconds: the year 5138. In milliseconds: 1973. */
const MILLISECONDS_FROM = 100_000_000_000;

export function explainBody(error: unknown): string | undefined {
  if (!(error instanceof GatewayError) || error.code !== 'BODY_NOT_JSON') return undefined;
  const { offset, reason } = error.context;
  return `body: byte ${String(offset)}: ${String(reason)}`;
}

export function explainMissingSign(value: JsonValue | undefined, hasData: boolean): string {
  return wrongType(
    'sign',
    value,
    hasData
      ? 'write the hex HMAC-SHA256 of data as a string'
      : 'the body has the members sign, timestamp, nonce and data, and data has the fields of the order',
  );
}

export function explainTimestamp(value: JsonValue | undefined, nowSeconds: number): string {
  const expected = `an integer of Unix seconds without quotation marks, it is now ${nowSeconds}`;
  const literal = asNumberLexeme(value);
  if (literal === undefined) return wrongType('timestamp', value, `write ${expected}`);
  return `timestamp: ${quote(literal)} is not ${expected}`;
}

export function explainExpired(seconds: number, nowSeconds: number, windowSeconds: number): string {
  if (seconds >= MILLISECONDS_FROM)
    return `timestamp: milliseconds; seconds are expected, it is now ${nowSeconds}`;
  const direction = seconds < nowSeconds ? 'past' : 'future';
  return `timestamp: is ${Math.abs(nowSeconds - seconds)} s in the ${direction}; at most ${windowSeconds} s, it is now ${nowSeconds}`;
}

export function explainNonce(value: JsonValue | undefined): string {
  if (typeof value !== 'string' || isBlank(value)) return wrongType('nonce', value, `write ${NONCE_FORM}`);
  return `nonce: has ${value.length} characters or some that are not printable ASCII; write ${NONCE_FORM}`;
}

export function explainData(value: JsonValue | undefined): string {
  return wrongType(
    'data',
    value,
    typeof value === 'string' ? 'write the JSON object itself, not its text' : 'write a JSON object',
  );
}

const HEX_SIGNATURE = /^[0-9A-Fa-f]{64}$/;
/** 32 bytes in base64 or base64url. */
const BASE64_SIGNATURE = /^[A-Za-z0-9+/_-]{43}=?$/;

/** Detail of a signature that cannot verify for any merchant, because of its form. */
export function explainSignForm(sign: string): string | undefined {
  if (HEX_SIGNATURE.test(sign)) return undefined;
  const looks = BASE64_SIGNATURE.test(sign) ? ', which looks like base64' : '';
  return `sign: has ${sign.length} characters${looks}; write 64 hex digits`;
}

/**
 * The texts that the gateway compared with the signature of a POST. It depends only on the request, so it is the same
 * for every merchant, known or not.
 */
export function explainDataSignature(
  forms: DataForms,
  { timestamp, nonce }: { readonly timestamp: { readonly literal: string }; readonly nonce: string },
  path: string,
): string {
  const [received, compact] = forms.literal();
  const bytes = received?.bytes ?? new Uint8Array();
  const prefix = Buffer.from(`${timestamp.literal}.${nonce}.${path}.`);
  return [
    `sign: is not the HMAC-SHA256 of data with the token of this merchant. Checked: data as received, ${digestOf(bytes)}`,
    ...(compact === undefined ? [] : [`without white space, ${digestOf(compact.bytes)}`]),
    `signVersion 2: timestamp.nonce.path.data, ${digestOf(prefix, bytes)}`,
  ].join('; ');
}

/** @param isRefusedLink it has the form of a payment link's, which does not open this endpoint */
export function explainOrderIdSignature(orderId: string, isRefusedLink: boolean): string {
  const link = isRefusedLink ? '; the sign of a paymentUrl does not open status' : '';
  return `sign: is not the HMAC-SHA256 of the orderId with the token of this merchant. Checked: ${digestOf(Buffer.from(orderId))}${link}`;
}

function digestOf(...parts: readonly Uint8Array[]): string {
  const whole = Buffer.concat(parts);
  return `${whole.length} bytes, SHA-256 ${createHash('sha256').update(whole).digest('hex')}`;
}
