import {
  dueAmount,
  fullBaseUnits,
  receivedBaseUnits,
  type CheckoutOrder,
  type PayableOrder,
} from '../view/checkout-order.ts';

/** UNSURE: the wallet failed or was not answered yet. REVERTED: the wallet's node shows it as failed in a block. */
export type HeldState = 'UNSURE' | 'SENT' | 'REVERTED';

export interface HeldPayment {
  readonly wallet: string;
  readonly walletId: string;
  readonly state: HeldState;
  readonly transaction: string | null;
  /** The explorer of the chain that was paid on: another coin may be chosen later. Contains `{txid}`. */
  readonly explorerTxUrl: string | null;
  /** The payment should have arrived by now: the payer is asked to check the wallet. */
  readonly overdue: boolean;
}

export interface AskedPayment {
  sent(transaction: string | null): void;
  nothingSent(): void;
}

/** Remembers payments across tabs and reloads, so that no customer pays twice. */
export interface SentPayments {
  /** Call it before the wallet is asked. Until the outcome is known, the payment may have been sent. */
  begin(order: PayableOrder, wallet: { readonly id: string; readonly name: string }): AskedPayment;
  /** May be pending, until its amount arrived or the order's time is over. */
  find(order: CheckoutOrder, nowSeconds: number): HeldPayment | undefined;
  reverted(transaction: string): void;
  /** The order needs no payment, or the payer knows that none was sent. */
  forget(): void;
}

interface Kept extends Omit<HeldPayment, 'overdue'> {
  readonly askedAtMs: number;
  readonly address: string;
  /** Base units that the order has received once the payment arrives. */
  readonly receivedThen: string;
  /** Base units of the whole order in the coin that was asked for. Absent in payments of an older page. */
  readonly amount?: string;
  readonly expiredTime?: number;
}

/** Longer than a block and its notification take on every chain, except under congestion. */
const OVERDUE_AFTER_MS = 3 * 60_000;

/** All tabs share the origin's storage; without storage, only this page remembers. */
export function createSentPayments(
  orderId: string,
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | undefined,
  nowMs: () => number,
): SentPayments {
  const kept = keepOne(`opentill-sent:${orderId}`, storage);
  return {
    begin(order, { id, name }) {
      const payment: Kept = {
        wallet: name,
        walletId: id,
        state: 'UNSURE',
        transaction: null,
        explorerTxUrl: order.explorerTxUrl ?? null,
        askedAtMs: nowMs(),
        address: order.address,
        receivedThen: String(receivedBaseUnits(order) + dueAmount(order).baseUnits),
        amount: String(fullBaseUnits(order)),
        expiredTime: order.expiredTime,
      };
      kept.set(payment);
      return {
        sent: (transaction) => kept.set({ ...payment, state: 'SENT', transaction }),
        nothingSent() {
          // Another tab may have asked a wallet since; it clears its own payment.
          if (kept.get()?.askedAtMs === payment.askedAtMs) kept.remove();
        },
      };
    },
    find(order, nowSeconds) {
      const payment = kept.get();
      if (payment === undefined || !isOf(payment, order)) return undefined;
      if (nowSeconds >= order.expiredTime) return undefined;
      if (hasArrived(payment, order)) return undefined;
      const { wallet, walletId, state, transaction, explorerTxUrl, askedAtMs } = payment;
      const overdue = nowMs() - askedAtMs >= OVERDUE_AFTER_MS;
      return { wallet, walletId, state, transaction, explorerTxUrl, overdue };
    },
    reverted(transaction) {
      const payment = kept.get();
      if (payment?.transaction === transaction) kept.set({ ...payment, state: 'REVERTED' });
    },
    forget: kept.remove,
  };
}

/** Orders of two shops may have the same id. An order with options has several addresses, but one end. */
function isOf({ address, expiredTime }: Kept, order: CheckoutOrder): boolean {
  return address === order.address || (order.options !== undefined && expiredTime === order.expiredTime);
}

/** As parts of the whole order, since another coin may have been chosen after the wallet was asked. */
function hasArrived({ receivedThen, amount }: Kept, order: CheckoutOrder): boolean {
  const full = fullBaseUnits(order);
  return receivedBaseUnits(order) * BigInt(amount ?? full) >= BigInt(receivedThen) * full;
}

function keepOne(key: string, storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | undefined) {
  let unstored: Kept | undefined;
  return {
    set(payment: Kept): void {
      try {
        if (storage === undefined) throw new Error('nothing may be stored');
        storage.setItem(key, JSON.stringify(payment));
        unstored = undefined;
      } catch {
        unstored = payment;
      }
    },
    get(): Kept | undefined {
      if (unstored !== undefined) return unstored;
      try {
        return read(storage?.getItem(key) ?? null);
      } catch {
        return undefined;
      }
    },
    remove(): void {
      unstored = undefined;
      try {
        storage?.removeItem(key);
      } catch {
        // Without storage there is no entry to remove.
      }
    },
  };
}

/** Another version of the page, or another script, may have stored the value. */
function read(text: string | null): Kept | undefined {
  if (text === null) return undefined;
  const payment = JSON.parse(text) as Partial<Kept> | null;
  const amounts = [payment?.receivedThen, payment?.amount ?? '0'];
  return typeof payment?.wallet === 'string' && amounts.every((amount) => /^\d+$/.test(String(amount)))
    ? ({ walletId: '', transaction: null, explorerTxUrl: null, askedAtMs: 0, ...payment } as Kept)
    : undefined;
}
