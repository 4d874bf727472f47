import { LINK_STOCK_MAX, LINKS_LISTED_MAX } from '@opentill/contracts/http/link-schemas';
import { asSafeInteger, type JsonObject } from '@opentill/contracts/signing/json-value';
import { formatAmount, parseAmount } from '@opentill/domain/money';
import { formatPrice } from '@opentill/domain/price';
import { isBlank } from './explain/describe-value.ts';
import { explainName } from './explain/explain-fields.ts';
import {
  leavesCoinOpen,
  readAmount,
  readCoins,
  readName,
  readPrice,
  readShownFields,
  readUidField,
  type AcceptedCoins,
  type FieldRules,
} from './order-fields.ts';
import type { Problem } from './problem.ts';

/** A value in units of the currency, or of the coin without one: `amount`, or the bounds of an open one. */
export interface LinkBounds {
  readonly currency: string | null;
  /** Decimal text, as the next two: fixed, so that equal values are equal texts. */
  readonly amount: string | null;
  readonly minAmount: string | null;
  readonly maxAmount: string | null;
}

/** Validated fields of a new link. Each field is checked by itself. */
export interface LinkFields extends LinkBounds, AcceptedCoins {
  readonly linkId: string;
  readonly uid: string | null;
  readonly description: string | null;
  readonly returnUrl: URL | null;
  readonly stock: number | null;
  readonly expiresAt: Date | null;
}

/** Decimals of any token, and those that an amount is shown with at least. */
const AMOUNT_DECIMALS = 30;
const SHOWN_DECIMALS = 2;
/** The year 2100: a later time is most likely one in milliseconds. */
const EXPIRES_AT_MAX_SECONDS = 4_102_444_800;

const invalid = (detail: string): Problem => ({ code: 'LINK_INVALID', detail });

/**
 * Reads `data` of link/create. Returns the first error in the order of docs/api.md section 10. A member that is null is
 * absent, so that the members of an answer can be sent.
 */
export function readLinkFields(sent: JsonObject, rules: FieldRules): LinkFields | Problem {
  const data = new Map([...sent].filter(([, value]) => value !== null));
  const named = readLinkId(data);
  if ('code' in named) return named;
  const bounds = readBounds(data);
  if ('code' in bounds) return bounds;
  const isPriced = bounds.currency !== null;
  if (!isBlank(data.get('accept')) && !leavesCoinOpen(data, isPriced))
    return invalid('accept: belongs to a price without symbol and chain; remove accept, or symbol and chain');
  const coins = readCoins(data, rules, isPriced);
  if ('code' in coins) return coins;
  const user = readUidField(data, rules.version);
  if ('code' in user) return user;
  const shown = readShownFields(data, rules.allowHttpReturnUrl);
  if ('code' in shown) return shown;
  const stock = readInteger(data, 'stock', 1, LINK_STOCK_MAX);
  if (typeof stock === 'object' && stock !== null) return stock;
  const expiresAt = readInteger(data, 'expiresAt', 1, EXPIRES_AT_MAX_SECONDS);
  if (typeof expiresAt === 'object' && expiresAt !== null) return expiresAt;
  return {
    ...named,
    ...bounds,
    ...coins,
    ...user,
    ...shown,
    stock,
    expiresAt: expiresAt === null ? null : new Date(expiresAt * 1000),
  };
}

export function readLinkId(data: JsonObject): { readonly linkId: string } | Problem {
  const linkId = readName(data.get('linkId'));
  return linkId === undefined || linkId === null
    ? { code: 'LINK_ID_INVALID', detail: explainName('linkId', data.get('linkId')) }
    : { linkId };
}

/** A signature of version 1 covers only `data`, so that the data of link/read must not be valid for link/close. */
export function readClosing(data: JsonObject): { readonly linkId: string } | Problem {
  const named = readLinkId(data);
  if ('code' in named) return named;
  return data.get('closed') === true ? named : invalid('closed: write true, without quotation marks');
}

export interface LinkPage {
  readonly limit: number;
  readonly before: string | null;
}

/** `limit` is required: a signature of version 1 covers only `data`, so that no other data may be valid here. */
export function readLinkPage(data: JsonObject): LinkPage | Problem {
  const limit =
    readInteger(data, 'limit', 1, LINKS_LISTED_MAX) ?? invalid(`limit: write 1 to ${LINKS_LISTED_MAX}`);
  if (typeof limit === 'object') return limit;
  const before = readName(data.get('before'));
  if (before === undefined) return invalid('before: write `next` of the page before');
  return { limit, before };
}

const VALUES = {
  amount: ['amount'],
  price: ['price'],
  amounts: ['minAmount', 'maxAmount'],
  prices: ['minPrice', 'maxPrice'],
} as const;

function readBounds(data: JsonObject): LinkBounds | Problem {
  const isGiven = (name: string) => !isBlank(data.get(name));
  const given = Object.values(VALUES).filter((names) => names.some(isGiven));
  const [names = VALUES.amount, ...more] = given;
  if (more.length > 0) {
    const choice = 'amount; price; minAmount and maxAmount; minPrice and maxPrice';
    return invalid(`${given.map(([name]) => name).join(', ')}: give only one of ${choice}`);
  }
  const isPriced = names === VALUES.price || names === VALUES.prices;
  if (!isPriced && isGiven('currency'))
    return invalid('currency: belongs to a price; an amount is in the coin');
  const values: Entered[] = [];
  for (const name of names) {
    const value = isPriced ? readPriceText(data, name) : readAmountText(data, name);
    if ('code' in value) return value;
    values.push(value);
  }
  const [first, last] = values;
  const bounds = { currency: first?.currency ?? null, amount: null, minAmount: null, maxAmount: null };
  if (first === undefined || last === undefined) return { ...bounds, amount: first?.text ?? null };
  if (compareDecimals(first.text, last.text) > 0)
    return invalid(`${names[0]}: is greater than ${names[1] ?? ''}`);
  return { ...bounds, minAmount: first.text, maxAmount: last.text };
}

interface Entered {
  readonly text: string;
  readonly currency: string | null;
}

function readPriceText(data: JsonObject, name: string): Entered | Problem {
  const price = readPrice(data, name);
  return 'code' in price ? price : { text: formatPrice(price), currency: price.currency };
}

function readAmountText(data: JsonObject, name: string): Entered | Problem {
  const text = readAmount(data, name);
  if (typeof text !== 'string') return text;
  return { text: formatAmount(decimalOf(text), AMOUNT_DECIMALS, SHOWN_DECIMALS), currency: null };
}

function decimalOf(text: string): bigint {
  const parsed = parseAmount(text, AMOUNT_DECIMALS);
  return parsed.ok ? parsed.value : 0n;
}

/** Of decimal texts: negative, zero or positive. */
export function compareDecimals(a: string, b: string): number {
  const difference = decimalOf(a) - decimalOf(b);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

/** Null when absent. */
function readInteger(data: JsonObject, name: string, min: number, max: number): number | null | Problem {
  const value = data.get(name);
  if (value === undefined || value === null) return null;
  const integer = asSafeInteger(value);
  return integer === undefined || integer < min || integer > max
    ? invalid(`${name}: write an integer from ${min} to ${max}, without quotation marks`)
    : integer;
}
