import { createHash } from 'node:crypto';
import { isCurrency } from '@opentill/domain/currency';
import { isAmountText, parseAmount } from '@opentill/domain/money';
import { parsePrice } from '@opentill/domain/price';
import { compareDecimals } from '../link-fields.ts';
import type { Merchant } from '../merchant-book.ts';
import type { CollectionFields } from '../order-fields.ts';
import type { LinkRow } from '../store/links.ts';
import { createCollection } from './create-collection.ts';
import type { OrderDeps } from './order-deps.ts';

/** An order as the form requests it. */
export interface LinkOrder {
  /** Follows from the form, so that the same form opens one order. */
  readonly orderId: string;
  /** As entered, with a point; null for a link with a fixed value. */
  readonly amount: string | null;
}

export type OpenedLinkOrder = 'OPENED' | 'SOLD_OUT' | 'LINK_ENDED' | 'WRONG_AMOUNT' | 'UNAVAILABLE';

const KEY_GRAMMAR = /^[0-9a-f-]{36}$/;
const ORDER_ID_DIGITS = 40;
/** In an amount that the payer enters, unless a bound of the link has more. */
const ENTERED_DECIMALS = 2;
const NONCE_SECONDS = 1;

/** Undefined: not a form of this page. */
export function readForm(
  link: LinkRow,
  form: URLSearchParams,
): LinkOrder | { readonly wrongAmount: string } | undefined {
  const [key = '', ...more] = form.getAll('key');
  if (!KEY_GRAMMAR.test(key) || more.length > 0) return undefined;
  const { minAmount, maxAmount } = link;
  if (minAmount === null || maxAmount === null) return { orderId: orderIdOf(link, key, ''), amount: null };
  const entered = (form.get('amount') ?? '').slice(0, 40);
  const amount = readEntered(
    entered,
    Math.max(ENTERED_DECIMALS, decimalsOf(minAmount), decimalsOf(maxAmount)),
  );
  const isWrong =
    amount === undefined || compareDecimals(amount, minAmount) < 0 || compareDecimals(amount, maxAmount) > 0;
  return isWrong ? { wrongAmount: entered } : { orderId: orderIdOf(link, key, amount), amount };
}

function orderIdOf(link: LinkRow, key: string, amount: string): string {
  const digest = createHash('sha256').update(`${link.code} ${key} ${amount}`).digest('hex');
  return `link-${digest.slice(0, ORDER_ID_DIGITS)}`;
}

const decimalsOf = (decimal: string) => decimal.split('.')[1]?.length ?? 0;

/**
 * The decimal that the payer means, without needless zeros. Digits of Arabic and Persian keyboards, and a decimal comma,
 * are accepted. Undefined: not a decimal, or a comma before three digits, which may also group thousands.
 */
function readEntered(text: string, decimalsMax: number): string | undefined {
  const latin = text
    .trim()
    .replaceAll(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) & 0xf));
  const isGrouped = /^\d{1,3}(,\d{3})+\.\d+$/.test(latin);
  if (!isGrouped && /[,\u066b]\d{3}$/.test(latin)) return undefined;
  const decimal = isGrouped ? latin.replaceAll(',', '') : latin.replace(/[,\u066b]/, '.');
  if (!isAmountText(decimal) || decimalsOf(decimal) > decimalsMax) return undefined;
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal;
}

/** Creates the order, or finds it. Money decides over stock: only an order that does not exist yet can be refused. */
export async function openLinkOrder(
  deps: OrderDeps,
  merchant: Merchant,
  link: LinkRow,
  order: LinkOrder,
): Promise<OpenedLinkOrder> {
  if (link.currency !== null && !isCurrency(link.currency)) return 'UNAVAILABLE'; // of another version
  const fields = fieldsOf(merchant, link, order);
  if (fields === undefined) return 'WRONG_AMOUNT';
  const { merchantId } = merchant;
  // The order id makes it idempotent, so each request has a nonce of its own.
  const expiresAt = new Date(deps.clock.now().getTime() + NONCE_SECONDS * 1000);
  const nonce = { merchantId, nonce: `link ${deps.newId()}`, expiresAt };
  const { linkId } = link;
  const request = {
    merchant,
    nonce,
    orderType: 'COLLECTION',
    fields,
    signedDataHash: null,
    traceparent: undefined,
    linkId,
  } as const;
  const attempt = await createCollection(deps, request);
  if ('code' in attempt) {
    const key = { merchantId, orderId: order.orderId, signedDataHash: null, nonce: nonce.nonce };
    if ((await deps.store.findCreated(key)).existing !== undefined) return 'OPENED';
    return attempt.code === 'AMOUNT_OUT_OF_RANGE' ? 'WRONG_AMOUNT' : 'UNAVAILABLE';
  }
  const { outcome } = attempt.result;
  if (outcome === 'CREATED') {
    deps.wakeRelay();
    deps.observe.orderCreated(attempt.order);
  }
  if (outcome === 'SOLD_OUT' || outcome === 'LINK_ENDED') return outcome;
  return outcome === 'CREATED' || outcome === 'EXISTS' ? 'OPENED' : 'UNAVAILABLE';
}

/** As of createCollection. Undefined: the amount does not fit the currency or the coin. */
function fieldsOf(merchant: Merchant, link: LinkRow, order: LinkOrder): CollectionFields | undefined {
  const { currency, coin, accept, uid, description } = link;
  const value = order.amount ?? link.amount ?? '';
  const price = isCurrency(currency) ? parsePrice(value, currency) : undefined;
  if (price?.ok === false || !parseAmount(value, 30).ok) return undefined;
  const returnUrl = link.returnUrl === null ? null : new URL(link.returnUrl);
  return {
    amount: price === undefined ? value : null,
    price: price?.price ?? null,
    coin,
    accept,
    uid,
    orderId: order.orderId,
    // The list of the merchant may have changed since the link was created.
    returnUrl: returnUrl !== null && merchant.returnOrigins.includes(returnUrl.origin) ? returnUrl : null,
    description,
    expiresInSeconds: null,
  };
}
