import {
  asArray,
  asNumberLexeme,
  asObject,
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

/** A token on a chain, as sent. */
export interface CoinName {
  readonly chain: Chain;
  readonly symbol: string;
}

/** Symbols are case-insensitive, as in AssetBook.find. */
export function isSameCoin(one: CoinName, other: CoinName): boolean {
  return one.chain === other.chain && isSameSymbol(one, other);
}

export function isSameSymbol(one: Pick<CoinName, 'symbol'>, other: Pick<CoinName, 'symbol'>): boolean {
  return one.symbol.toUpperCase() === other.symbol.toUpperCase();
}

/** Validated fields that collections and payouts share. Each field is checked by itself. */
export interface OrderFields {
  /** Decimal string greater than zero, as sent; null for a collection with a price. */
  readonly amount: string | null;
  /** Null for a collection that the customer may pay in several coins, and only for that. */
  readonly coin: CoinName | null;
  readonly uid: string | null;
  /** null only for a V2 merchant; the gateway then creates an id. */
  readonly orderId: string | null;
}

/** The coins of a collection or a payment link. */
export interface AcceptedCoins {
  /** Null: the customer may choose. */
  readonly coin: CoinName | null;
  /** Coins that the customer may choose; null: all with a rate, or `coin` says which. */
  readonly accept: readonly CoinName[] | null;
}

export interface CollectionFields extends OrderFields, AcceptedCoins {
  /** Null for a collection with an amount. */
  readonly price: Price | null;
  readonly returnUrl: URL | null;
  readonly description: string | null;
  readonly expiresInSeconds: number | null;
}

export interface PayoutFields extends OrderFields {
  readonly amount: string;
  readonly coin: CoinName;
  /** As sent; its form depends on the chain. */
  readonly receiveAddress: string;
}

/** Fields of a collection or a payout. */
export type AnyOrderFields = OrderFields &
  Partial<Pick<CollectionFields, 'price' | 'accept'> & Pick<PayoutFields, 'receiveAddress'>>;

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
/** Each costs rows of the order, and queries while it is open. */
export const OPTIONS_MAX = 50;
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
  const coins = readCoins(data, rules, value.price !== null);
  if ('code' in coins) return coins;
  if (!isBlank(data.get('receiveAddress'))) return { code: 'RECEIVE_ADDRESS_WRONG', detail };
  const names = readNames(data, rules);
  if ('code' in names) return names;
  return readCheckoutFields(data, { ...names, ...value, ...coins }, rules.allowHttpReturnUrl);
}

function readCheckoutFields(
  data: JsonObject,
  order: OrderFields & Pick<CollectionFields, 'price' | 'accept'>,
  allowHttp: boolean,
): CollectionFields | Problem {
  const shown = readShownFields(data, allowHttp);
  if ('code' in shown) return shown;
  const expiresInSeconds = readExpiresIn(data.get('expiresIn'));
  if (expiresInSeconds === undefined) {
    const detail = explainExpiresIn(data.get('expiresIn'), EXPIRES_IN_MIN_SECONDS, EXPIRES_IN_MAX_SECONDS);
    return { code: 'EXPIRES_IN_INVALID', detail };
  }
  return { ...order, ...shown, expiresInSeconds };
}

/** Fields that the customer sees, of a collection or of a payment link. */
export function readShownFields(
  data: JsonObject,
  allowHttp: boolean,
): Pick<CollectionFields, 'returnUrl' | 'description'> | Problem {
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
  return { returnUrl, description };
}

/** Reads `data` of createPayout, like readCollectionFields. */
export function readPayoutFields(data: JsonObject, rules: FieldRules): PayoutFields | Problem {
  const value = data.get('receiveAddress');
  const receiveAddress = readText(value);
  const explained = () => wrongType('receiveAddress', value, 'write the receiver of the payout as a string');
  const amount = readAmount(data);
  if (typeof amount !== 'string') return amount;
  const coin = readCoin(data, rules);
  if ('code' in coin) return coin;
  if (receiveAddress === undefined) return { code: 'RECEIVE_ADDRESS_BLANK', detail: explained() };
  const names = readNames(data, rules);
  return 'code' in names ? names : { ...names, coin, amount, receiveAddress };
}

/** Only a price without `symbol` and `chain` leaves the coin to the customer. */
export function leavesCoinOpen(data: JsonObject, isPriced: boolean): boolean {
  return isPriced && !data.has('symbol') && !data.has('chain');
}

/** Reads the coin, or those that the customer may choose. */
export function readCoins(data: JsonObject, rules: FieldRules, isPriced: boolean): AcceptedCoins | Problem {
  if (!leavesCoinOpen(data, isPriced)) {
    const coin = readCoin(data, rules);
    return 'code' in coin ? coin : { coin, accept: null };
  }
  const accept = readAccept(data.get('accept'), rules);
  return accept !== null && 'code' in accept ? accept : { coin: null, accept };
}

/** Reads `symbol` and `chain`. Also of the choice of a coin. */
export function readCoin(
  data: JsonObject,
  rules: Pick<FieldRules, 'isKnownChain' | 'enabledChains'>,
): CoinName | Problem {
  const symbol = readText(data.get('symbol'));
  if (symbol === undefined) return { code: 'SYMBOL_BLANK', detail: explainSymbol(data.get('symbol')) };
  const chain = data.get('chain');
  if (!rules.isKnownChain(chain))
    return { code: 'CHAIN_BLANK', detail: explainChain(chain, rules.enabledChains) };
  return { symbol, chain };
}

/** Null: absent. */
function readAccept(value: JsonValue | undefined, rules: FieldRules): readonly CoinName[] | null | Problem {
  if (value === undefined || value === null) return null;
  const invalid = (detail: string): Problem => ({ code: 'ACCEPT_INVALID', detail: `accept: ${detail}` });
  const items = asArray(value);
  if (items === undefined || items.length < 1 || items.length > OPTIONS_MAX)
    return invalid(`write a list of 1 to ${OPTIONS_MAX} objects with chain and symbol`);
  const coins: CoinName[] = [];
  for (const [place, item] of items.entries()) {
    const coin = readCoin(asObject(item) ?? new Map(), rules);
    if ('code' in coin) return invalid(`[${place}]: ${coin.detail ?? ''}`);
    coins.push(coin);
  }
  return coins;
}

function readNames(data: JsonObject, rules: FieldRules): Pick<OrderFields, 'uid' | 'orderId'> | Problem {
  const user = readUidField(data, rules.version);
  if ('code' in user) return user;
  const orderId = readName(data.get('orderId'));
  // URL paths cannot contain the ids `.` and `..`.
  if (orderId === undefined || orderId === '.' || orderId === '..') {
    return { code: 'ORDER_ID_INVALID', detail: explainName('orderId', data.get('orderId')) };
  }
  if (orderId === null && rules.version === 'V3') {
    return { code: 'ORDER_ID_BLANK', detail: explainName('orderId', undefined) };
  }
  return { uid: user.uid, orderId };
}

export function readUidField(
  data: JsonObject,
  version: FieldRules['version'],
): Pick<OrderFields, 'uid'> | Problem {
  const uid = readUid(data.get('uid'));
  if (uid === undefined) return { code: 'UID_INVALID', detail: explainUid(data.get('uid')) };
  if (uid === null && version === 'V2') return { code: 'UID_BLANK', detail: explainName('uid', undefined) };
  return uid === '0' || uid === '-0' ? { code: 'UID_ZERO' } : { uid };
}

/** An amount, or a price with its currency. Next to an amount both are unknown members, as before prices existed. */
function readValue(data: JsonObject): Pick<CollectionFields, 'amount' | 'price'> | Problem {
  const value = data.get('price');
  if (isBlank(value) || !isBlank(data.get('amount'))) {
    const amount = readAmount(data);
    return typeof amount === 'string' ? { amount, price: null } : amount;
  }
  const price = readPrice(data, 'price');
  return 'code' in price ? price : { amount: null, price };
}

/** @param name of the member with the price; its currency is in `currency` */
export function readPrice(data: JsonObject, name: string): Price | Problem {
  const code = data.get('currency');
  const currency = typeof code === 'string' ? code.toUpperCase() : undefined;
  if (!isCurrency(currency)) return { code: 'CURRENCY_INVALID', detail: explainCurrency(code) };
  const text = readDecimal(data.get(name));
  const parsed = text === undefined ? undefined : parsePrice(text, currency);
  return parsed?.ok === true
    ? parsed.price
    : { code: 'PRICE_INVALID', detail: explainPrice(data.get(name), currency, name) };
}

/** @param name of the member with the amount */
export function readAmount(data: JsonObject, name = 'amount'): string | Problem {
  const amount = readDecimal(data.get(name));
  if (amount === undefined) return { code: 'AMOUNT_BLANK', detail: explainAmount(data.get(name), name) };
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
export function readName(value: JsonValue | undefined): string | null | undefined {
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
