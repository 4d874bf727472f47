import type { PayinOrderAnswer } from '@opentill/contracts/http/answers';
import { presetOf, type Chain } from '@opentill/domain/chains';
import { formatAmount, parseAmount } from '@opentill/domain/money';
import { COLLECTION_REASONS } from '@opentill/domain/settle-collection';

export type MerchantView = PayinOrderAnswer['merchant'];
export type MerchantLinks = Pick<NonNullable<MerchantView>, 'shopUrl' | 'supportUrl' | 'supportEmail'>;
/** A payment to the order's address that does not count for the order. */
export type UnmatchedPayment = Omit<PayinOrderAnswer['unmatched'][number], 'chainName'> & {
  readonly chainName?: string;
};
type AddedLater =
  | 'merchant'
  | 'isTestNetwork'
  | 'chainId'
  | 'unmatched'
  | 'unmatchedCount'
  | 'chainName'
  | 'explorerTxUrl'
  | 'transactionTime';

/** The response of GET pay. A gateway older than an exported page omits the members that were added later. */
export type CheckoutOrder = Omit<PayinOrderAnswer, AddedLater> &
  Partial<Pick<PayinOrderAnswer, Exclude<AddedLater, 'unmatched'>>> & {
    readonly unmatched?: readonly UnmatchedPayment[];
  };

/** An order whose coin is chosen, by the shop or by the customer. */
export type PayableOrder = CheckoutOrder & { readonly address: string };

export function isChosen(order: CheckoutOrder): order is PayableOrder {
  return order.address !== null;
}

/** Each state has its own heading and advice. */
export type CheckoutState =
  /** The customer chooses the coin, for the first time or another one. */
  | 'choose'
  | 'waiting'
  | 'partial'
  /** It was payable at the last read and is being read again: see `stateShown`. */
  | 'checking'
  /** A payment sent now would arrive too late. */
  | 'tooLate'
  /** The states of a payment that a wallet was asked to send: see HeldView. */
  | 'sent'
  | 'overdue'
  | 'unsure'
  | 'reverted'
  /** No further payment may be sent. It is not decided yet whether a payment arrived in time. */
  | 'timeOver'
  /** A payment lost its block. It usually returns in another one; sending again would pay twice. */
  | 'reorganised'
  | 'confirming'
  | 'paid'
  | 'expired'
  | 'underpaid'
  | 'late'
  | 'failed';

/** Follows from the order and the time. */
export type OrderState = Exclude<
  CheckoutState,
  'checking' | 'tooLate' | 'sent' | 'overdue' | 'unsure' | 'reverted'
>;

/** Unix seconds of the server. */
export function stateOf(order: CheckoutOrder, nowSeconds: number): OrderState {
  switch (order.status) {
    case 'INIT':
    case 'PENDING':
      if (nowSeconds >= order.expiredTime) return 'timeOver';
      if (order.reason === COLLECTION_REASONS.reorganised) return 'reorganised';
      if (!isChosen(order)) return 'choose';
      return order.status === 'INIT' ? 'waiting' : 'partial';
    case 'PENDING_CONFIRMATION':
      return 'confirming';
    case 'SUCCESS':
      return 'paid';
    case 'FAILED':
      return 'failed';
    case 'EXPIRED':
      if (order.reason === 'Underpaid') return 'underpaid';
      return order.actualAmount === null && order.txid === null ? 'expired' : 'late';
  }
}

export function isPayable(state: CheckoutState): boolean {
  return state === 'waiting' || state === 'partial';
}

/** A part was paid, and the rest is awaited. */
export function isPartlyPaid({ status }: CheckoutOrder, state: CheckoutState): boolean {
  return state === 'partial' || (state === 'choose' && status === 'PENDING');
}

/** Money arrived that does not count. */
export function hasUnmatched({ unmatched = [] }: CheckoutOrder): boolean {
  return unmatched.length > 0;
}

/** The payer has to ask the shop. */
const TO_CLARIFY: ReadonlySet<CheckoutState> = new Set(['underpaid', 'late', 'failed']);

/** The page links to the help of the shop next to the text about it. */
export function asksShop(order: CheckoutOrder, state: CheckoutState): boolean {
  if (TO_CLARIFY.has(state) || hasUnmatched(order)) return true;
  return state === 'expired' || (state === 'paid' && paidAmounts(order).tooMuch !== null);
}

/** The payer has to ask the shop about money that arrived before paying again. */
export function isQuestioned(order: CheckoutOrder, state: CheckoutState): boolean {
  return isPayable(state) && hasUnmatched(order);
}

/** Remaining time as shown: calm, under five minutes, under one minute. */
export function urgencyOf({ expiredTime }: CheckoutOrder, nowSeconds: number): 'calm' | 'soon' | 'last' {
  const left = expiredTime - nowSeconds;
  if (left < 60) return 'last';
  return left < 5 * 60 ? 'soon' : 'calm';
}

/** Time to confirm in a wallet and get into a block, whose time decides whether a payment is late. */
const PAYING_SECONDS = 20;
const PAYING_SECONDS_OF: Readonly<Partial<Record<Chain, number>>> = { ETH: 45, ETH_SEPOLIA: 45 };

export function isRunningOut({ chain, expiredTime }: CheckoutOrder, nowSeconds: number): boolean {
  return expiredTime - nowSeconds < (PAYING_SECONDS_OF[chain] ?? PAYING_SECONDS);
}

/** The order changes by itself soon. An expired one changes only by an operator or a late payment. */
export function isOpen(order: CheckoutOrder): boolean {
  return order.status === 'INIT' || order.status === 'PENDING' || order.status === 'PENDING_CONFIRMATION';
}

export interface DueAmount {
  /** Exact decimal in display units. */
  readonly text: string;
  readonly baseUnits: bigint;
}

/** Returns the full amount when the payments cover the order; the page then does not ask for it. */
export function dueAmount(order: CheckoutOrder): DueAmount {
  const asked = baseUnitsOf(order.amount, order.decimals);
  const missing = asked - receivedBaseUnits(order);
  if (missing <= 0n || missing === asked) return { text: order.amount, baseUnits: asked };
  const shown = Math.min(decimalsShown(order.amount), decimalsShown(order.receivedAmount));
  return { text: formatAmount(missing, order.decimals, shown), baseUnits: missing };
}

export function fullBaseUnits(order: CheckoutOrder): bigint {
  return baseUnitsOf(order.amount, order.decimals);
}

export function receivedBaseUnits(order: CheckoutOrder): bigint {
  return baseUnitsOf(order.receivedAmount, order.decimals);
}

export interface PaidAmounts {
  /** Everything that counts for the order; after expiry also what came late. */
  readonly received: string;
  /** Null unless more than the price has arrived. */
  readonly tooMuch: string | null;
  /** Null unless something, but less than the price, has arrived. */
  readonly missing: string | null;
}

export function paidAmounts(order: CheckoutOrder): PaidAmounts {
  const { amount, actualAmount, decimals } = order;
  // A verified amount replaces the detected one as soon as the order is decided.
  const received = (isOpen(order) ? null : actualAmount) ?? order.receivedAmount;
  const difference = baseUnitsOf(received, decimals) - baseUnitsOf(amount, decimals);
  const shown = Math.min(decimalsShown(amount), decimalsShown(received));
  const text = (units: bigint) => formatAmount(units, decimals, shown);
  const has = baseUnitsOf(received, decimals) > 0n;
  return {
    received,
    tooMuch: difference > 0n ? text(difference) : null,
    missing: has && difference < 0n ? text(-difference) : null,
  };
}

interface LinkedOrder {
  readonly orderId: string;
  readonly returnUrl: string | null;
  readonly merchant?: MerchantLinks;
}

/** URL that the payer returns to. */
export function shopUrlOf({ returnUrl, merchant }: LinkedOrder): string | null {
  return returnUrl ?? webUrl(merchant?.shopUrl);
}

export function contactUrlOf({ merchant, orderId }: LinkedOrder): string | null {
  const email = merchant?.supportEmail ?? null;
  if (email === null) return webUrl(merchant?.supportUrl);
  return webUrl(merchant?.supportUrl) ?? `mailto:${email}?subject=${encodeURIComponent(orderId)}`;
}

/** Explorer page of a transaction that only the wallet has shown. */
export function explorerUrlOf(explorerTxUrl: string | null, txid: string): string | null {
  return webUrl(explorerTxUrl?.replaceAll('{txid}', encodeURIComponent(txid)));
}

/** Drops addresses that would run code. */
function webUrl(url: string | null | undefined): string | null {
  return url !== null && url !== undefined && /^https?:\/\//i.test(url) ? url : null;
}

/** A gateway that omits it knows presets only. */
export function chainIdOf({ chain, chainId }: Pick<CheckoutOrder, 'chain' | 'chainId'>): number | null {
  return chainId ?? presetOf(chain)?.chainId ?? null;
}

export function isOnTestNetwork({ chain, isTestNetwork }: CheckoutOrder): boolean {
  return isTestNetwork ?? presetOf(chain)?.kind === 'test';
}

function baseUnitsOf(amount: string, decimals: number): bigint {
  const parsed = parseAmount(amount, decimals);
  return parsed.ok ? parsed.value : 0n;
}

/** Both amounts are padded to the token's display decimals, and at least one of them has no more. */
function decimalsShown(amount: string): number {
  const point = amount.indexOf('.');
  return point < 0 ? 0 : amount.length - point - 1;
}
