import type { IncomingMessage } from 'node:http';
import { createDataForms, type DataForms } from '@opentill/contracts/signing/data-forms';
import {
  asNumberLexeme,
  asObject,
  asSafeInteger,
  asString,
  readMember,
  type JsonObject,
} from '@opentill/contracts/signing/json-value';
import { findMember, type JsonDocument } from '@opentill/contracts/signing/json-document';
import { tokenizeJson } from '@opentill/contracts/signing/tokenize-json';
import {
  verifyDataSignature,
  verifyOrderIdSignature,
  verifyPaymentLinkSignature,
  verifyRequestSignature,
} from '@opentill/contracts/signing/verify-signature';
import { unixSeconds, type Clock } from '@opentill/runtime/clock';
import { refusal, tooManyRequests, type Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';
import {
  explainData,
  explainDataSignature,
  explainExpired,
  explainMissingSign,
  explainNonce,
  explainOrderIdSignature,
  explainSignForm,
  explainTimestamp,
} from './explain/explain-envelope.ts';
import type { Merchant, MerchantBook } from './merchant-book.ts';
import type { Observe } from './observe.ts';
import type { Problem } from './problem.ts';
import {
  ORDERS_PER_ADDRESS,
  REFUSED_SIGNATURE_LIMIT,
  UNNAMED_FAILURES_SECONDS,
  type RateLimits,
  type SignedEndpoint,
} from './rate-limits.ts';
import { readBody } from './read-body.ts';
import type { SpentNonce } from './store/create-orders.ts';

export interface AuthenticateDeps {
  readonly merchants: MerchantBook;
  readonly limits: RateLimits;
  readonly clock: Clock;
  readonly observe: Pick<Observe, 'signatureAccepted'>;
  /** Maximum difference of a request's timestamp, in both directions. */
  readonly timestampWindowSeconds: number;
  /** Wrong signatures of a client address per minute before its requests must name their merchant. */
  readonly unnamedFailuresMax: number;
  /** Describe the checked bytes of a wrong signature. False on main networks. */
  readonly explainSignatures: boolean;
}

/** A POST with a valid signature and time. Its nonce is not spent yet. */
export interface SignedRequest {
  readonly merchant: Merchant;
  readonly document: JsonDocument;
  /** From the same parse that was verified. */
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
 * Authenticates a POST in the order of docs/api.md section 2. The first failed check is the response. Undefined: the
 * client disconnected before it had sent its body.
 */
export async function authenticatePost(
  deps: AuthenticateDeps,
  request: IncomingMessage,
  exchange: Exchange,
  { endpoint, path }: { readonly endpoint: SignedEndpoint; readonly path: string },
): Promise<SignedRequest | Answer | undefined> {
  const { limits, merchants } = deps;
  const wait = await limits.take(`ip:${endpoint}`, exchange.clientAddress, merchants.ipLimit(endpoint));
  if (wait > 0) return tooManyRequests(wait);
  const body = await readBody(request);
  if (body === undefined) return undefined;
  if ('code' in body) return refusal(body.code, body.detail);
  if (body.length === 0) return refusal('BODY_NOT_JSON', 'body: is empty; send a JSON object');
  const shape = readShape(tokenizeJson(body), unixSeconds(deps.clock.now()));
  if ('code' in shape) {
    const { code, detail } = shape;
    return code === 'SIGN_BLANK' ? refuseSignature(deps, exchange, code, detail) : refusal(code, detail);
  }

  const forms = createDataForms(shape.document);
  const signer = await findSigner(deps, request, exchange, {
    verify: verifierOf(shape, forms, path),
    sign: shape.sign,
    explain: () => explainDataSignature(forms, shape, path),
  });
  if ('status' in signer) return signer;
  const { merchant, form } = signer;
  deps.observe.signatureAccepted(merchant.merchantId, form);

  const nowSeconds = unixSeconds(deps.clock.now());
  const { seconds } = shape.timestamp;
  if (Math.abs(nowSeconds - seconds) > deps.timestampWindowSeconds) {
    return refusal('TIMESTAMP_EXPIRED', explainExpired(seconds, nowSeconds, deps.timestampWindowSeconds));
  }
  const own = merchants.limitOf(merchant, endpoint);
  const merchantWait = await limits.take(`merchant:${endpoint}`, merchant.merchantId, own);
  if (merchantWait > 0) return tooManyRequests(merchantWait);
  // A timestamp from the far end of the window stays valid for two windows from now.
  const expiresAt = new Date((nowSeconds + 2 * deps.timestampWindowSeconds + 1) * 1000);
  const { document, data, nonce } = shape;
  return { merchant, document, data, nonce: { merchantId: merchant.merchantId, nonce, expiresAt } };
}

export const SIGN_OF_QUERY_MISSING =
  'sign: is missing in the query; write the hex HMAC-SHA256 of the orderId';

/** Signature in a GET's query. A payment link's signature names its merchant: `<hex>.<merchantId>`. */
const ORDER_SIGNATURE = /^(?<hex>[0-9A-Fa-f]{64})(?:\.(?<merchantId>[A-Za-z0-9_-]{1,64}))?$/;

/**
 * Verifies `sign` over an order id. The response does not reveal whether the order exists. `opensTo`: `merchant`
 * accepts only a merchant's signature; `customer` also accepts a payment link's, and counts the client address first.
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
    const wait = await countAddress(deps, exchange);
    if (wait > 0) return tooManyRequests(wait);
  }
  if (asked.sign === undefined || asked.sign.trim() === '')
    return refuseSignature(deps, exchange, 'SIGN_BLANK', SIGN_OF_QUERY_MISSING);
  const { hex, merchantId: hint } = ORDER_SIGNATURE.exec(asked.sign)?.groups ?? {};
  if (hex === undefined) return refuseSignature(deps, exchange, 'SIGN_WRONG', explainSignForm(asked.sign));
  const verify: Verify = ({ token }) => {
    const signature = { token, orderId, sign: hex };
    const isOrderId = verifyOrderIdSignature(signature);
    const isLink = opensTo === 'customer' && verifyPaymentLinkSignature(signature);
    return isOrderId || isLink ? 'order-id' : undefined;
  };
  const isRefusedLink = opensTo === 'merchant' && hint !== undefined;
  const explain = () => explainOrderIdSignature(orderId, isRefusedLink);
  const signer = await findSigner(deps, request, exchange, { verify, hint, sign: hex, explain });
  return 'status' in signer ? signer : signer.merchant;
}

/** Counts the address before any other work. A merchant's raised limit of `pay` raises this limit too. */
function countAddress(
  { limits, merchants }: Pick<AuthenticateDeps, 'limits' | 'merchants'>,
  { clientAddress }: Exchange,
): Promise<number> {
  const { requests, seconds } = merchants.ipLimit('pay');
  return limits.take('address:order', clientAddress, { requests: requests * ORDERS_PER_ADDRESS, seconds });
}

/**
 * Returns a function that verifies the request with a merchant's token and gives the matching form. The forms are
 * computed once for all merchants.
 */
function verifierOf({ sign, timestamp, nonce }: Shape, forms: DataForms, path: string): Verify {
  return ({ token, signVersion }) => {
    const byVersion = {
      1: () => verifyDataSignature({ forms, token, sign }),
      2: () => verifyRequestSignature({ forms, token, sign, timestamp: timestamp.literal, nonce, path }),
    };
    const verdict = byVersion[signVersion]();
    if (verdict.ok) return verdict.form;
    // Does the same work for both versions and for unknown merchants, so that response times do not distinguish them.
    byVersion[signVersion === 1 ? 2 : 1]();
    return undefined;
  };
}

interface Signer {
  readonly merchant: Merchant;
  readonly form: string;
}

interface AskedSignature {
  readonly verify: Verify;
  readonly sign: string;
  readonly hint?: string | undefined;
  /** Detail of a wrong signature; the same for every merchant, known or not. */
  readonly explain: () => string;
}

/**
 * Finds the merchant whose token verifies: the named one, or one of a bounded number. After a miss, changed merchants
 * are read and tried again. Precedence of names: base URL, header, hint in a payment link.
 */
async function findSigner(
  deps: AuthenticateDeps,
  request: IncomingMessage,
  exchange: Exchange,
  { verify, sign, hint, explain }: AskedSignature,
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
    const detail = explainSignForm(sign) ?? (deps.explainSignatures ? explain() : undefined);
    return refuseSignature(deps, exchange, 'SIGN_WRONG', detail);
  }
  exchange.merchantId = found.merchant.merchantId;
  return found;
}

/**
 * Wrong and missing signatures count against the client's address. Valid signatures from the same address are not
 * limited.
 */
export async function refuseSignature(
  deps: Pick<AuthenticateDeps, 'limits'>,
  exchange: Exchange,
  code: 'SIGN_WRONG' | 'SIGN_BLANK',
  detail: string | undefined,
): Promise<Answer> {
  const wait = await deps.limits.take('refused', exchange.clientAddress, REFUSED_SIGNATURE_LIMIT);
  return wait > 0 ? tooManyRequests(wait) : refusal(code, detail);
}

function firstSigner(merchants: readonly Merchant[], verify: Verify): Signer | undefined {
  for (const merchant of merchants) {
    const form = verify(merchant);
    if (form !== undefined) return { merchant, form };
  }
  return undefined;
}

function readShape(document: JsonDocument, nowSeconds: number): Shape | Problem {
  const signValue = readMember(document, 'sign');
  const sign = asString(signValue);
  if (sign === undefined || sign.trim() === '') {
    const hasData = findMember(document, 'data') !== undefined;
    return { code: 'SIGN_BLANK', detail: explainMissingSign(signValue, hasData) };
  }
  const timestamp = readMember(document, 'timestamp');
  const seconds = asSafeInteger(timestamp);
  const literal = asNumberLexeme(timestamp);
  if (seconds === undefined || literal === undefined) {
    return { code: 'TIMESTAMP_BLANK', detail: explainTimestamp(timestamp, nowSeconds) };
  }
  const nonceValue = readMember(document, 'nonce');
  const nonce = asString(nonceValue);
  if (nonce === undefined || nonce.trim() === '' || !NONCE_GRAMMAR.test(nonce)) {
    return { code: 'NONCE_BLANK', detail: explainNonce(nonceValue) };
  }
  const dataValue = readMember(document, 'data');
  const data = asObject(dataValue);
  if (data === undefined) return { code: 'DATA_BLANK', detail: explainData(dataValue) };
  return { document, sign, timestamp: { literal, seconds }, nonce, data };
}
