import type { IncomingMessage } from 'node:http';
import type { ApiErrorCode } from '@opentill/contracts/http/api-errors';
import { createDataForms } from '@opentill/contracts/signing/data-forms';
import {
  asNumberLexeme,
  asObject,
  asSafeInteger,
  asString,
  readMember,
  type JsonObject,
} from '@opentill/contracts/signing/json-value';
import type { JsonDocument } from '@opentill/contracts/signing/json-document';
import { tokenizeJson } from '@opentill/contracts/signing/tokenize-json';
import {
  verifyDataSignature,
  verifyOrderIdSignature,
  verifyRequestSignature,
} from '@opentill/contracts/signing/verify-signature';
import type { Clock } from '@opentill/runtime/clock';
import { refusal, tooManyRequests, type Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';
import type { Merchant, MerchantBook } from './merchant-book.ts';
import type { Observe } from './observe.ts';
import { REFUSED_SIGNATURE_LIMIT, type RateLimits } from './rate-limits.ts';
import { readBody } from './read-body.ts';
import type { SpentNonce } from './store.ts';

export interface AuthenticateDeps {
  readonly merchants: MerchantBook;
  readonly limits: RateLimits;
  readonly clock: Clock;
  readonly observe: Pick<Observe, 'signatureAccepted'>;
  /** How far a request's timestamp may be off, either way. */
  readonly timestampWindowSeconds: number;
}

/** A POST whose signature and time are right. Its nonce is not spent yet. */
export interface SignedRequest {
  readonly merchant: Merchant;
  readonly document: JsonDocument;
  /** From the very parse that was verified. */
  readonly data: JsonObject;
  readonly nonce: SpentNonce;
}

type Verify = (merchant: Merchant) => string | undefined;

interface Shape {
  readonly document: JsonDocument;
  readonly sign: string;
  readonly timestamp: { readonly literal: string; readonly seconds: number };
  readonly nonce: string;
  readonly data: JsonObject;
}

const NONCE_GRAMMAR = /^[ -~]{1,128}$/;

/**
 * The checks of a POST that come before its fields, in the order of api.md section 2; the first that fails is the
 * answer. Undefined: the client went away before it had sent its body.
 */
export async function authenticatePost(
  deps: AuthenticateDeps,
  request: IncomingMessage,
  exchange: Exchange,
  { endpoint, path }: { readonly endpoint: 'createCollection' | 'createPayout'; readonly path: string },
): Promise<SignedRequest | Answer | undefined> {
  const { limits, merchants } = deps;
  const wait = await limits.take(`ip:${endpoint}`, exchange.clientAddress, merchants.ipLimit(endpoint));
  if (wait > 0) return tooManyRequests(wait);
  const body = await readBody(request);
  if (body === undefined) return undefined;
  if (typeof body === 'string') return refusal(body);
  const shape = readShape(tokenizeJson(body));
  if (shape === 'SIGN_BLANK') return refuseSignature(deps, exchange, shape);
  if (typeof shape === 'string') return refusal(shape);

  const signer = await findSigner(deps, request, verifierOf(shape, path));
  if (signer === undefined) return refuseSignature(deps, exchange, 'SIGN_WRONG');
  const [merchant, form] = signer;
  exchange.merchantId = merchant.merchantId;
  deps.observe.signatureAccepted(merchant.merchantId, form);

  const nowSeconds = Math.floor(deps.clock.now().getTime() / 1000);
  if (Math.abs(nowSeconds - shape.timestamp.seconds) > deps.timestampWindowSeconds) {
    return refusal('TIMESTAMP_EXPIRED');
  }
  const own = merchants.limitOf(merchant, endpoint);
  const merchantWait = await limits.take(`merchant:${endpoint}`, merchant.merchantId, own);
  if (merchantWait > 0) return tooManyRequests(merchantWait);
  // A timestamp from the window's far end stays acceptable for two windows from now.
  const expiresAt = new Date((nowSeconds + 2 * deps.timestampWindowSeconds + 1) * 1000);
  const { document, data, nonce } = shape;
  return { merchant, document, data, nonce: { merchantId: merchant.merchantId, nonce, expiresAt } };
}

/** Checks `sign` over an order's id. The same answer whether or not the order exists. */
export async function authenticateOrderId(
  deps: AuthenticateDeps,
  request: IncomingMessage,
  exchange: Exchange,
  { orderId, sign }: { readonly orderId: string; readonly sign: string | undefined },
): Promise<Merchant | Answer> {
  if (sign === undefined || sign.trim() === '') return refuseSignature(deps, exchange, 'SIGN_BLANK');
  const signer = await findSigner(deps, request, ({ token }) =>
    verifyOrderIdSignature({ token, orderId, sign }) ? 'order-id' : undefined,
  );
  if (signer === undefined) return refuseSignature(deps, exchange, 'SIGN_WRONG');
  exchange.merchantId = signer[0].merchantId;
  return signer[0];
}

/** The form by which a merchant's token verifies the request; the forms are made once for all merchants. */
function verifierOf({ document, sign, timestamp, nonce }: Shape, path: string): Verify {
  const forms = createDataForms(document);
  return ({ token, signVersion }) => {
    const verdict =
      signVersion === 1
        ? verifyDataSignature({ forms, token, sign })
        : verifyRequestSignature({ forms, token, sign, timestamp: timestamp.literal, nonce, path });
    return verdict.ok ? verdict.form : undefined;
  };
}

/** Whose token verifies; a merchant that is not known yet is looked for once more. */
async function findSigner(
  { merchants }: AuthenticateDeps,
  request: IncomingMessage,
  verify: Verify,
): Promise<[Merchant, string] | undefined> {
  const header = request.headers['x-merchant-id'];
  const merchantId = typeof header === 'string' && header !== '' ? header : undefined;
  if (!merchants.loaded) await merchants.refresh();
  const found = firstSigner(merchants.candidates(merchantId), verify);
  if (found !== undefined || !(await merchants.refreshOnMiss())) return found;
  return firstSigner(merchants.candidates(merchantId), verify);
}

/** Refused and missing signatures count against the client's address; who signs rightly from there is not held back. */
export async function refuseSignature(
  deps: Pick<AuthenticateDeps, 'limits'>,
  exchange: Exchange,
  code: 'SIGN_WRONG' | 'SIGN_BLANK',
): Promise<Answer> {
  const wait = await deps.limits.take('refused', exchange.clientAddress, REFUSED_SIGNATURE_LIMIT);
  return wait > 0 ? tooManyRequests(wait) : refusal(code);
}

function firstSigner(merchants: readonly Merchant[], verify: Verify): [Merchant, string] | undefined {
  for (const merchant of merchants) {
    const form = verify(merchant);
    if (form !== undefined) return [merchant, form];
  }
  return undefined;
}

/** The envelope's four members. */
function readShape(document: JsonDocument): Shape | ApiErrorCode {
  const sign = asString(readMember(document, 'sign'));
  if (sign === undefined || sign.trim() === '') return 'SIGN_BLANK';
  const timestamp = readMember(document, 'timestamp');
  const seconds = asSafeInteger(timestamp);
  const literal = asNumberLexeme(timestamp);
  if (seconds === undefined || literal === undefined) return 'TIMESTAMP_BLANK';
  const nonce = asString(readMember(document, 'nonce'));
  if (nonce === undefined || nonce.trim() === '' || !NONCE_GRAMMAR.test(nonce)) return 'NONCE_BLANK';
  const data = asObject(readMember(document, 'data'));
  if (data === undefined) return 'DATA_BLANK';
  return { document, sign, timestamp: { literal, seconds }, nonce, data };
}
