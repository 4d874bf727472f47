import type { PayinOrderAnswer } from '@opentill/contracts/http/answers';
import type { Chain } from '@opentill/domain/chains';
import { formatAmount, parseAmount } from '@opentill/domain/money';
import { COLLECTION_REASONS } from '@opentill/domain/settle-collection';

/** What the page shows of an order: the answer of GET pay. */
export type CheckoutOrder = PayinOrderAnswer;

/** What a customer has to know of an order. Each has a heading and an advice of its own. */
export type CheckoutState =
  /** Nothing has come yet. */
  | 'waiting'
  /** A part has come, the rest is still awaited. */
  | 'partial'
  /** It was to be paid when it was read last, and is being read again: see `stateShown`. */
  | 'checking'
  /** Nothing new may be sent; whether something came in time is not settled yet. */
  | 'timeOver'
  /** What was seen fell out of its block; as a rule it comes back in another one. Who sent again would pay twice. */
  | 'reorganised'
  /** All of it is in blocks that are not deep enough yet. */
  | 'confirming'
  | 'paid'
  /** Nothing came in time. */
  | 'expired'
  /** Too little came in time. */
  | 'underpaid'
  /** Something came after the time. */
  | 'late'
  | 'failed';

/** The state at this time of the server, in Unix seconds. */
export function stateOf(order: CheckoutOrder, nowSeconds: number): Exclude<CheckoutState, 'checking'> {
  switch (order.status) {
    case 'INIT':
    case 'PENDING':
      if (nowSeconds >= order.expiredTime) return 'timeOver';
      if (order.reason === COLLECTION_REASONS.reorganised) return 'reorganised';
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

/** Whether money may be sent to the order's address now. */
export function isPayable(state: CheckoutState): boolean {
  return state === 'waiting' || state === 'partial';
}

/** What it takes to say yes in a wallet, and to be in one of the next blocks, whose time decides what is late. */
const PAYING_SECONDS = 20;
const PAYING_SECONDS_OF: Readonly<Partial<Record<Chain, number>>> = { ETH: 45, ETH_SEPOLIA: 45 };

/** Whether what is sent now may well be late. */
export function isRunningOut({ chain, expiredTime }: CheckoutOrder, nowSeconds: number): boolean {
  return expiredTime - nowSeconds < (PAYING_SECONDS_OF[chain] ?? PAYING_SECONDS);
}

/** Whether the order moves on by itself soon; an expired one may still, when somebody accepts or a late payment comes. */
export function isOpen(order: CheckoutOrder): boolean {
  return order.status === 'INIT' || order.status === 'PENDING' || order.status === 'PENDING_CONFIRMATION';
}

/** What is to be sent now: the amount, or what is missing of it. */
export interface DueAmount {
  /** Decimal, in display units; exact. */
  readonly text: string;
  readonly baseUnits: bigint;
}

/** What is still to be sent. Where what came covers the amount already, the whole amount, which nobody is asked for then. */
export function dueAmount(order: CheckoutOrder): DueAmount {
  const asked = baseUnitsOf(order.amount, order.decimals);
  const missing = asked - receivedBaseUnits(order);
  if (missing <= 0n || missing === asked) return { text: order.amount, baseUnits: asked };
  const shown = Math.min(decimalsShown(order.amount), decimalsShown(order.receivedAmount));
  return { text: formatAmount(missing, order.decimals, shown), baseUnits: missing };
}

/** What was seen to come in time. */
export function receivedBaseUnits(order: CheckoutOrder): bigint {
  return baseUnitsOf(order.receivedAmount, order.decimals);
}

function baseUnitsOf(amount: string, decimals: number): bigint {
  const parsed = parseAmount(amount, decimals);
  return parsed.ok ? parsed.value : 0n;
}

/** Both are filled up to the token's display decimals, and at least one of them has no more. */
function decimalsShown(amount: string): number {
  const point = amount.indexOf('.');
  return point < 0 ? 0 : amount.length - point - 1;
}
