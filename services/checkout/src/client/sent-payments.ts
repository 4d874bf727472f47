import { dueAmount, receivedBaseUnits, type CheckoutOrder } from '../view/checkout-order.ts';

/** What is known of a payment that a wallet was asked for. */
export interface HeldPayment {
  readonly wallet: string;
  /** SENT: the wallet said so. UNSURE: it failed, is still being asked, or the page went before it answered. */
  readonly state: 'UNSURE' | 'SENT';
}

/** A payment that a wallet is being asked for. */
export interface AskedPayment {
  sent(): void;
  /** The wallet is known to have sent nothing. */
  nothingSent(): void;
}

/** Remembers what wallets were asked for, in every tab and over reloads, so that nobody pays twice for not seeing it yet. */
export interface SentPayments {
  /** To be called before the wallet is asked; until more is known the payment may have been sent. */
  begin(order: CheckoutOrder, wallet: string): AskedPayment;
  /** What may be on its way to the order: until that sum has come, or the order's time is over. */
  find(order: CheckoutOrder, nowSeconds: number): HeldPayment | undefined;
  /** The order needs no payment any more, or its payer knows that nothing was sent. */
  forget(): void;
}

interface Kept extends HeldPayment {
  readonly askedAtMs: number;
  readonly address: string;
  /** What the order has received once the payment has come; base units. */
  readonly receivedThen: string;
}

/** Keeps it in the origin's storage, which all tabs share; without one for as long as the page is open. */
export function createSentPayments(
  orderId: string,
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | undefined,
  nowMs: () => number,
): SentPayments {
  const key = `opentill-sent:${orderId}`;
  /** What could not be stored. */
  let unstored: Kept | undefined;

  const keep = (payment: Kept): void => {
    try {
      if (storage === undefined) throw new Error('nothing may be stored');
      storage.setItem(key, JSON.stringify(payment));
      unstored = undefined;
    } catch {
      unstored = payment;
    }
  };
  const kept = (): Kept | undefined => {
    if (unstored !== undefined) return unstored;
    try {
      return read(storage?.getItem(key) ?? null);
    } catch {
      return undefined;
    }
  };
  const forget = (): void => {
    unstored = undefined;
    try {
      storage?.removeItem(key);
    } catch {
      // Then nothing was stored either.
    }
  };
  return {
    begin(order, wallet) {
      const payment: Kept = {
        wallet,
        state: 'UNSURE',
        askedAtMs: nowMs(),
        address: order.address,
        receivedThen: String(receivedBaseUnits(order) + dueAmount(order).baseUnits),
      };
      keep(payment);
      return {
        sent: () => keep({ ...payment, state: 'SENT' }),
        nothingSent() {
          // Another tab may have asked since: that is for its own wallet to clear.
          if (kept()?.askedAtMs === payment.askedAtMs) forget();
        },
      };
    },
    find(order, nowSeconds) {
      const payment = kept();
      if (payment === undefined || payment.address !== order.address) return undefined;
      if (nowSeconds >= order.expiredTime) return undefined;
      if (receivedBaseUnits(order) >= BigInt(payment.receivedThen)) return undefined;
      return { wallet: payment.wallet, state: payment.state };
    },
    forget,
  };
}

/** What is stored may be of another version of the page, or anybody's. */
function read(text: string | null): Kept | undefined {
  if (text === null) return undefined;
  const payment = JSON.parse(text) as Partial<Kept> | null;
  return typeof payment?.wallet === 'string' && /^\d+$/.test(String(payment.receivedThen))
    ? (payment as Kept)
    : undefined;
}
