import type { ApiErrorCode } from '@opentill/contracts/http/api-errors';
import {
  asNumberLexeme,
  asSafeInteger,
  type JsonObject,
  type JsonValue,
} from '@opentill/contracts/signing/json-value';
import { isChain, type Chain } from '@opentill/domain/chains';
import { isAmountText } from '@opentill/domain/money';

/** Validated fields that collections and payouts share. Each field is checked by itself. */
export interface OrderFields {
  /** Decimal string greater than zero, as sent. */
  readonly amount: string;
  readonly symbol: string;
  readonly chain: Chain;
  readonly uid: string | null;
  /** null only for a V2 merchant; the gateway then creates an id. */
  readonly orderId: string | null;
}

export interface CollectionFields extends OrderFields {
  readonly returnUrl: URL | null;
  readonly description: string | null;
  readonly expiresInSeconds: number | null;
}

export interface PayoutFields extends OrderFields {
  /** As sent; its form depends on the chain. */
  readonly receiveAddress: string;
}

export interface FieldRules {
  readonly version: 'V2' | 'V3';
  /** Only the local profile allows http. */
  readonly allowHttpReturnUrl: boolean;
}

const NAME_GRAMMAR = /^[A-Za-z0-9_.:~@-]{1,64}$/;
const INTEGER_LITERAL = /^-?(?:0|[1-9][0-9]*)$/;
const DESCRIPTION_CHARACTERS = 120;
/** Characters that change the direction of the text after them: a description must not rearrange the page. */
const BIDI_CONTROLS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const RETURN_URL_CHARACTERS = 2_048;
const EXPIRES_IN_MIN_SECONDS = 60;
const EXPIRES_IN_MAX_SECONDS = 86_400;

/**
 * Reads `data` of createCollection. Returns the first error in the order of docs/api.md section 3. Data with a receiver
 * is rejected as a payout's: version 1 signs only `data`, so one endpoint's data must not be valid for the other.
 */
export function readCollectionFields(data: JsonObject, rules: FieldRules): CollectionFields | ApiErrorCode {
  const order = readOrderFields(
    data,
    rules,
    isBlank(data.get('receiveAddress')) ? undefined : 'RECEIVE_ADDRESS_WRONG',
  );
  if (typeof order === 'string') return order;
  const returnUrl = readReturnUrl(data.get('returnUrl'), rules.allowHttpReturnUrl);
  if (returnUrl === undefined) return 'RETURN_URL_INVALID';
  const description = readDescription(data.get('description'));
  if (description === undefined) return 'DESCRIPTION_INVALID';
  const expiresInSeconds = readExpiresIn(data.get('expiresIn'));
  if (expiresInSeconds === undefined) return 'EXPIRES_IN_INVALID';
  return { ...order, returnUrl, description, expiresInSeconds };
}

/** Reads `data` of createPayout, like readCollectionFields. */
export function readPayoutFields(data: JsonObject, rules: FieldRules): PayoutFields | ApiErrorCode {
  const receiveAddress = readText(data.get('receiveAddress'));
  const order = readOrderFields(
    data,
    rules,
    receiveAddress === undefined ? 'RECEIVE_ADDRESS_BLANK' : undefined,
  );
  if (typeof order === 'string') return order;
  return { ...order, receiveAddress: receiveAddress ?? '' };
}

/** @param ofReceiver error of `receiveAddress`, if any */
function readOrderFields(
  data: JsonObject,
  rules: FieldRules,
  ofReceiver: ApiErrorCode | undefined,
): OrderFields | ApiErrorCode {
  const amount = readAmount(data.get('amount'));
  if (amount === undefined) return 'AMOUNT_BLANK';
  if (isZero(amount)) return 'AMOUNT_ZERO';
  const symbol = readText(data.get('symbol'));
  if (symbol === undefined) return 'SYMBOL_BLANK';
  const chain = data.get('chain');
  if (!isChain(chain)) return 'CHAIN_BLANK';
  if (ofReceiver !== undefined) return ofReceiver;
  const uid = readUid(data.get('uid'));
  if (uid === undefined) return 'UID_INVALID';
  if (uid === null && rules.version === 'V2') return 'UID_BLANK';
  if (uid === '0' || uid === '-0') return 'UID_ZERO';
  const orderId = readName(data.get('orderId'));
  if (orderId === undefined || orderId === '.' || orderId === '..') return 'ORDER_ID_INVALID'; // URL paths cannot contain them
  if (orderId === null && rules.version === 'V3') return 'ORDER_ID_BLANK';
  return { amount, symbol, chain, uid, orderId };
}

/** A decimal string, or the literal of a number; never converted to a float. */
function readAmount(value: JsonValue | undefined): string | undefined {
  const text = typeof value === 'string' ? value : asNumberLexeme(value);
  return text !== undefined && isAmountText(text) ? text : undefined;
}

function isZero(amount: string): boolean {
  return /^[0.]+$/.test(amount);
}

function isBlank(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

function readText(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && !isBlank(value) ? value : undefined;
}

/** null when blank, undefined when invalid. */
function readName(value: JsonValue | undefined): string | null | undefined {
  if (isBlank(value)) return null;
  return typeof value === 'string' && NAME_GRAMMAR.test(value) ? value : undefined;
}

function readUid(value: JsonValue | undefined): string | null | undefined {
  const literal = asNumberLexeme(value);
  if (literal === undefined) return readName(value);
  return INTEGER_LITERAL.test(literal) ? readName(literal) : undefined;
}

function readReturnUrl(value: JsonValue | undefined, allowHttp: boolean): URL | null | undefined {
  if (isBlank(value)) return null;
  if (typeof value !== 'string' || value.length > RETURN_URL_CHARACTERS || !/^[\x21-\x7e]+$/.test(value)) {
    return undefined;
  }
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  return url.protocol === 'https:' || (allowHttp && url.protocol === 'http:') ? url : undefined;
}

function readDescription(value: JsonValue | undefined): string | null | undefined {
  if (isBlank(value)) return null;
  if (typeof value !== 'string' || Array.from(value).length > DESCRIPTION_CHARACTERS) return undefined;
  return /\p{Cc}/u.test(value) || BIDI_CONTROLS.test(value) ? undefined : value;
}

function readExpiresIn(value: JsonValue | undefined): number | null | undefined {
  if (value === undefined || value === null) return null;
  const seconds = asSafeInteger(value);
  if (seconds === undefined || seconds < EXPIRES_IN_MIN_SECONDS || seconds > EXPIRES_IN_MAX_SECONDS)
    return undefined;
  return seconds;
}
