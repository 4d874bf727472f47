import {
  asNumberLexeme,
  asSafeInteger,
  type JsonObject,
  type JsonValue,
} from '@opentill/contracts/signing/json-value';
import type { Chain } from '@opentill/domain/chains';
import { isCurrency } from '@opentill/domain/currency';
import { isAmountText } from '@opentill/domain/money';
import { parsePrice, type Price } from '@opentill/domain/price';
import { isBlank, wrongType } from './explain/describe-value.ts';
import {
  explainAmount,
  explainChain,
  explainCurrency,
  explainDescription,
  explainExpiresIn,
  explainName,
  explainPrice,
  explainReturnUrl,
  explainSymbol,
  explainUid,
} from './explain/explain-fields.ts';
import type { Problem } from './problem.ts';

/** Validated fields that collections and payouts share. Each field is checked by itself. */
export interface OrderFields {
  /** Decimal string greater than zero, as sent; null for a collection with a price. */
  readonly amount: string | null;
  readonly symbol: string;
  readonly chain: Chain;
  readonly uid: string | null;
  /** null only for a V2 merchant; the gateway then creates an id. */
  readonly orderId: string | null;
}

export interface CollectionFields extends OrderFields {
  /** Null for a collection with an amount. */
  readonly price: Price | null;
  readonly returnUrl: URL | null;
  readonly description: string | null;
  readonly expiresInSeconds: number | null;
}

export interface PayoutFields extends OrderFields {
  readonly amount: string;
  /** As sent; its form depends on the chain. */
  readonly receiveAddress: string;
}

/** Fields of a collection or a payout. */
export type AnyOrderFields = OrderFields &
  Partial<Pick<CollectionFields, 'price'> & Pick<PayoutFields, 'receiveAddress'>>;

export interface FieldRules {
  readonly version: 'V2' | 'V3';
  /** Only the local profile allows http. */
  readonly allowHttpReturnUrl: boolean;
  /** Listed in the detail of an unknown chain. */
  readonly enabledChains: readonly Chain[];
  /** True for presets and chains of the networks file. */
  isKnownChain(value: unknown): value is Chain;
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
export function readCollectionFields(data: JsonObject, rules: FieldRules): CollectionFields | Problem {
  const detail = 'receiveAddress: belongs to createPayout; createCollection takes none';
  const value = readValue(data);
  if ('code' in value) return value;
  const order = readOrderFields(
    data,
    rules,
    isBlank(data.get('receiveAddress')) ? undefined : { code: 'RECEIVE_ADDRESS_WRONG', detail },
  );
  if ('code' in order) return order;
  return readCheckoutFields(data, { ...order, ...value }, rules.allowHttpReturnUrl);
}

function readCheckoutFields(
  data: JsonObject,
  order: OrderFields & Pick<CollectionFields, 'price'>,
  allowHttp: boolean,
): CollectionFields | Problem {
  const returnUrl = readReturnUrl(data.get('returnUrl'), allowHttp);
  if (returnUrl === undefined) {
    const detail = explainReturnUrl(data.get('returnUrl'), RETURN_URL_CHARACTERS, allowHttp);
    return { code: 'RETURN_URL_INVALID', detail };
  }
  const description = readDescription(data.get('description'));
  if (description === undefined) {
    const detail = explainDescription(data.get('description'), DESCRIPTION_CHARACTERS);
    return { code: 'DESCRIPTION_INVALID', detail };
  }
  const expiresInSeconds = readExpiresIn(data.get('expiresIn'));
  if (expiresInSeconds === undefined) {
    const detail = explainExpiresIn(data.get('expiresIn'), EXPIRES_IN_MIN_SECONDS, EXPIRES_IN_MAX_SECONDS);
    return { code: 'EXPIRES_IN_INVALID', detail };
  }
  return { ...order, returnUrl, description, expiresInSeconds };
}

/** Reads `data` of createPayout, like readCollectionFields. */
export function readPayoutFields(data: JsonObject, rules: FieldRules): PayoutFields | Problem {
  const value = data.get('receiveAddress');
  const receiveAddress = readText(value);
  const explained = () => wrongType('receiveAddress', value, 'write the receiver of the payout as a string');
  const amount = readAmount(data);
  if (typeof amount !== 'string') return amount;
  const order = readOrderFields(
    data,
    rules,
    receiveAddress === undefined ? { code: 'RECEIVE_ADDRESS_BLANK', detail: explained() } : undefined,
  );
  if ('code' in order) return order;
  return { ...order, amount, receiveAddress: receiveAddress ?? '' };
}

/** @param ofReceiver error of `receiveAddress`, if any */
function readOrderFields(
  data: JsonObject,
  rules: FieldRules,
  ofReceiver: Problem | undefined,
): Omit<OrderFields, 'amount'> | Problem {
  const symbol = readText(data.get('symbol'));
  if (symbol === undefined) return { code: 'SYMBOL_BLANK', detail: explainSymbol(data.get('symbol')) };
  const chain = data.get('chain');
  if (!rules.isKnownChain(chain))
    return { code: 'CHAIN_BLANK', detail: explainChain(chain, rules.enabledChains) };
  if (ofReceiver !== undefined) return ofReceiver;
  const uid = readUid(data.get('uid'));
  if (uid === undefined) return { code: 'UID_INVALID', detail: explainUid(data.get('uid')) };
  if (uid === null && rules.version === 'V2')
    return { code: 'UID_BLANK', detail: explainName('uid', undefined) };
  if (uid === '0' || uid === '-0') return { code: 'UID_ZERO' };
  const orderId = readName(data.get('orderId'));
  // URL paths cannot contain the ids `.` and `..`.
  if (orderId === undefined || orderId === '.' || orderId === '..') {
    return { code: 'ORDER_ID_INVALID', detail: explainName('orderId', data.get('orderId')) };
  }
  if (orderId === null && rules.version === 'V3') {
    return { code: 'ORDER_ID_BLANK', detail: explainName('orderId', undefined) };
  }
  return { symbol, chain, uid, orderId };
}

/** An amount, or a price with its currency. Next to an amount both are unknown members, as before prices existed. */
function readValue(data: JsonObject): Pick<CollectionFields, 'amount' | 'price'> | Problem {
  const value = data.get('price');
  if (isBlank(value) || !isBlank(data.get('amount'))) {
    const amount = readAmount(data);
    return typeof amount === 'string' ? { amount, price: null } : amount;
  }
  const code = data.get('currency');
  const currency = typeof code === 'string' ? code.toUpperCase() : undefined;
  if (!isCurrency(currency)) return { code: 'CURRENCY_INVALID', detail: explainCurrency(code) };
  const text = readDecimal(value);
  const parsed = text === undefined ? undefined : parsePrice(text, currency);
  if (parsed?.ok !== true) return { code: 'PRICE_INVALID', detail: explainPrice(value, currency) };
  return { amount: null, price: parsed.price };
}

function readAmount(data: JsonObject): string | Problem {
  const amount = readDecimal(data.get('amount'));
  if (amount === undefined) return { code: 'AMOUNT_BLANK', detail: explainAmount(data.get('amount')) };
  return isZero(amount) ? { code: 'AMOUNT_ZERO' } : amount;
}

/** A decimal string, or the literal of a number; never converted to a float. */
function readDecimal(value: JsonValue | undefined): string | undefined {
  const text = typeof value === 'string' ? value : asNumberLexeme(value);
  return text !== undefined && isAmountText(text) ? text : undefined;
}

function isZero(amount: string): boolean {
  return /^[0.]+$/.test(amount);
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
