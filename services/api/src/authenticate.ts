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
  verifyPaymentLinkSignature,
  verifyRequestSignature,
} from '@opentill/contracts/signing/verify-signature';
import type { Clock } from '@opentill/runtime/clock';
import { refusal, tooManyRequests, type Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';
import type { Merchant, MerchantBook } from './merchant-book.ts';
import type { Observe } from './observe.ts';
import {
  ORDERS_PER_ADDRESS,
  REFUSED_SIGNATURE_LIMIT,
  UNNAMED_FAILURES_SECONDS,
  type RateLimits,
} from './rate-limits.ts';
import { readBody } from './read-body.ts';
import type { SpentNonce } from './store/create-orders.ts';

export interface AuthenticateDeps {
  readonly merchants: MerchantBook;
  readonly limits: RateLimits;
  readonly clock: Clock;
  readonly observe: Pick<Observe, 'signatureAccepted'>;
  /** How far a request's timestamp may be off, either way. */
  readonly timestampWindowSeconds: number;
  /** Refused signatures of a client address in a minute, after which its requests must name their merchant. */
  readonly unnamedFailuresMax: number;
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
 * The checks of a POST that come before its fields, in the order of docs/api.md section 2; the first that fails is the
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

  const signer = await findSigner(deps, request, exchange, { verify: verifierOf(shape, path) });
  if ('status' in signer) return signer;
  const { merchant, form } = signer;
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

/** A signature of a GET as its query has it. A payment link's names its merchant: `<hex>.<merchantId>`. */
const ORDER_SIGNATURE = /^(?<hex>[0-9A-Fa-f]{64})(?:\.(?<merchantId>[A-Za-z0-9_-]{1,64}))?$/;

/**
 * Checks `sign` over an order's id. The same answer whether or not the order exists. `opensTo`: `merchant` takes the
 * signature of merchants only; `customer` takes a payment link's as well, and counts the client's address first.
 */
export async function authenticateOrderId(
  deps: AuthenticateDeps,
  request: IncomingMessage,
  exchange: Exchange,
  asked: {
    readonly orderId: string;
    readonly sign: string | undefined;
    readonly opensTo: 'merchant' | 'customer';
  },
): Promise<Merchant | Answer> {
  const { orderId, opensTo } = asked;
  if (opensTo === 'customer') {
    const wait = await takeOfAddress(deps, exchange);
    if (wait > 0) return tooManyRequests(wait);
  }
  if (asked.sign === undefined || asked.sign.trim() === '')
    return refuseSignature(deps, exchange, 'SIGN_BLANK');
  const { hex, merchantId: hint } = ORDER_SIGNATURE.exec(asked.sign)?.groups ?? {};
  if (hex === undefined) return refuseSignature(deps, exchange, 'SIGN_WRONG');
  const verify: Verify = ({ token }) => {
    const signature = { token, orderId, sign: hex };
    const isOrderId = verifyOrderIdSignature(signature);
    const isLink = opensTo === 'customer' && verifyPaymentLinkSignature(signature);
    return isOrderId || isLink ? 'order-id' : undefined;
  };
  const signer = await findSigner(deps, request, exchange, { verify, hint });
  return 'status' in signer ? signer : signer.merchant;
}

/** Before any work on the signature; a merchant's raised limit of `pay` raises this one. */
function takeOfAddress(
  { limits, merchants }: AuthenticateDeps,
  { clientAddress }: Exchange,
): Promise<number> {
  const { requests, seconds } = merchants.ipLimit('pay');
  return limits.take('address:order', clientAddress, { requests: requests * ORDERS_PER_ADDRESS, seconds });
}

/** The form by which a merchant's token verifies the request; the forms are made once for all merchants. */
function verifierOf({ document, sign, timestamp, nonce }: Shape, path: string): Verify {
  const forms = createDataForms(document);
  return ({ token, signVersion }) => {
    const byVersion = {
      1: () => verifyDataSignature({ forms, token, sign }),
      2: () => verifyRequestSignature({ forms, token, sign, timestamp: timestamp.literal, nonce, path }),
    };
    const verdict = byVersion[signVersion]();
    if (verdict.ok) return verdict.form;
    // The same work for both versions and for unknown merchants, so that time tells none of them.
    byVersion[signVersion === 1 ? 2 : 1]();
    return undefined;
  };
}

interface Signer {
  readonly merchant: Merchant;
  readonly form: string;
}

/**
 * The merchant whose token verifies, among the named one or a bounded number; when none does, changed merchants are read
 * and tried once more. The base URL names first, then the header, then the hint of a link.
 */
async function findSigner(
  deps: AuthenticateDeps,
  request: IncomingMessage,
  exchange: Exchange,
  { verify, hint }: { readonly verify: Verify; readonly hint?: string | undefined },
): Promise<Signer | Answer> {
  const { merchants, limits } = deps;
  if (!merchants.loaded) await merchants.refresh();
  const header = request.headers['x-merchant-id'];
  const inHeader = typeof header === 'string' && header !== '' ? header : undefined;
  const merchantId = exchange.namedMerchantId ?? inHeader ?? hint;
  const isGuess = merchantId === undefined && merchants.count > 1;
  const failures = { requests: deps.unnamedFailuresMax, seconds: UNNAMED_FAILURES_SECONDS };
  if (isGuess) {
    const wait = await limits.peek('address:unnamed', exchange.clientAddress, failures);
    if (wait > 0) return tooManyRequests(wait, 'MERCHANT_UNNAMED');
  }
  let found = firstSigner(merchants.candidates(merchantId), verify);
  if (found === undefined && (await merchants.refreshOnMiss())) {
    found = firstSigner(merchants.candidates(merchantId), verify);
  }
  if (found === undefined) {
    if (isGuess) await limits.take('address:unnamed', exchange.clientAddress, failures);
    return refuseSignature(deps, exchange, 'SIGN_WRONG');
  }
  exchange.merchantId = found.merchant.merchantId;
  return found;
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

function firstSigner(merchants: readonly Merchant[], verify: Verify): Signer | undefined {
  for (const merchant of merchants) {
    const form = verify(merchant);
    if (form !== undefined) return { merchant, form };
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
