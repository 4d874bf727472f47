import { dueAmount, receivedBaseUnits, type CheckoutOrder } from '../view/checkout-order.ts';

/**
 * What is known of a payment that a wallet was asked for.
 * - SENT: the wallet said so.
 * - UNSURE: it failed, is still being asked, or the page went before it answered.
 * - REVERTED: it was sent, and the wallet's node shows it as failed in a block.
 */
export type HeldState = 'UNSURE' | 'SENT' | 'REVERTED';

export interface HeldPayment {
  /** Its name. */
  readonly wallet: string;
  readonly walletId: string;
  readonly state: HeldState;
  /** Its hash, where the wallet told it. */
  readonly transaction: string | null;
  /** Long enough ago that it should have come: its payer is asked to look. */
  readonly overdue: boolean;
}

/** A payment that a wallet is being asked for. */
export interface AskedPayment {
  sent(transaction: string | null): void;
  /** The wallet is known to have sent nothing. */
  nothingSent(): void;
}

/** Remembers what wallets were asked for, in every tab and over reloads, so that nobody pays twice for not seeing it yet. */
export interface SentPayments {
  /** To be called before the wallet is asked; until more is known the payment may have been sent. */
  begin(order: CheckoutOrder, wallet: { readonly id: string; readonly name: string }): AskedPayment;
  /** What may be on its way to the order: until that sum has come, or the order's time is over. */
  find(order: CheckoutOrder, nowSeconds: number): HeldPayment | undefined;
  /** The transaction failed in a block. It is for its payer to say that another one may be sent. */
  reverted(transaction: string): void;
  /** The order needs no payment any more, or its payer knows that nothing was sent. */
  forget(): void;
}

interface Kept extends Omit<HeldPayment, 'overdue'> {
  readonly askedAtMs: number;
  readonly address: string;
  /** What the order has received once the payment has come; base units. */
  readonly receivedThen: string;
}

/** Longer than a block and its news take on every chain but in a crowd. */
const OVERDUE_AFTER_MS = 3 * 60_000;

/** Keeps it in the origin's storage, which all tabs share; without one for as long as the page is open. */
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
        askedAtMs: nowMs(),
        address: order.address,
        receivedThen: String(receivedBaseUnits(order) + dueAmount(order).baseUnits),
      };
      kept.set(payment);
      return {
        sent: (transaction) => kept.set({ ...payment, state: 'SENT', transaction }),
        nothingSent() {
          // Another tab may have asked since: that is for its own wallet to clear.
          if (kept.get()?.askedAtMs === payment.askedAtMs) kept.remove();
        },
      };
    },
    find(order, nowSeconds) {
      const payment = kept.get();
      if (payment === undefined || payment.address !== order.address) return undefined;
      if (nowSeconds >= order.expiredTime) return undefined;
      if (receivedBaseUnits(order) >= BigInt(payment.receivedThen)) return undefined;
      const { wallet, walletId, state, transaction, askedAtMs } = payment;
      return { wallet, walletId, state, transaction, overdue: nowMs() - askedAtMs >= OVERDUE_AFTER_MS };
    },
    reverted(transaction) {
      const payment = kept.get();
      if (payment?.transaction === transaction) kept.set({ ...payment, state: 'REVERTED' });
    },
    forget: kept.remove,
  };
}

/** One payment under one key. */
function keepOne(key: string, storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | undefined) {
  /** What could not be stored. */
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
        // Then nothing was stored either.
      }
    },
  };
}

/** What is stored may be of another version of the page, or anybody's. */
function read(text: string | null): Kept | undefined {
  if (text === null) return undefined;
  const payment = JSON.parse(text) as Partial<Kept> | null;
  return typeof payment?.wallet === 'string' && /^\d+$/.test(String(payment.receivedThen))
    ? ({ walletId: '', transaction: null, askedAtMs: 0, ...payment } as Kept)
    : undefined;
}
