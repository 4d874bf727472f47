import type { Chain, Coin } from './orders.ts';

/** Decimal strings, never floats. Amounts are in units of the token, prices in units of the currency (ISO 4217). */
export type LinkValue =
  | (Coin & ({ readonly amount: string } | { readonly minAmount: string; readonly maxAmount: string }))
  | (LinkCoins & { readonly currency: string } & (
        { readonly price: string } | { readonly minPrice: string; readonly maxPrice: string }
      ));

/** One coin, or a choice of the customer. */
export type LinkCoins =
  | Coin
  | {
      readonly chain?: undefined;
      readonly symbol?: undefined;
      /** 1 to 50 coins. @default all that are enabled and have a rate */
      readonly accept?: readonly Coin[];
    };

interface SharedFields {
  /** Your own unique id: 1 to 64 letters, digits and `_ - . : ~ @`. Its orders and callbacks contain it. */
  readonly linkId: string;
  /** The uid of its orders. */
  readonly uid?: string | number;
  /** Shown on the page of the link and at checkout; at most 120 characters. */
  readonly description?: string;
  /** The checkout page links back to it. Its origin must be on your list. */
  readonly returnUrl?: string;
  /** Most orders that are open or paid: 1 to 10,000. */
  readonly stock?: number;
  /** Unix seconds. From then on it opens no orders. */
  readonly expiresAt?: number;
}

export type LinkFields = SharedFields & LinkValue;

/** Only an OPEN link opens orders. SOLD_OUT ends when an unpaid order expires. */
export type LinkState = 'OPEN' | 'SOLD_OUT' | 'EXPIRED' | 'CLOSED';

export interface PaymentLink {
  readonly linkId: string;
  /** The page. `${url}/qr.svg` is its QR code. */
  readonly url: string;
  readonly state: LinkState;
  readonly amount?: string;
  readonly price?: string;
  readonly minAmount?: string;
  readonly maxAmount?: string;
  readonly minPrice?: string;
  readonly maxPrice?: string;
  readonly currency?: string;
  /** Null, like the chain: the customer chooses the coin. */
  readonly symbol: string | null;
  readonly chain: Chain | null;
  /** Coins that the customer may choose. Null without a symbol: all enabled coins. */
  readonly accept: readonly Coin[] | null;
  readonly uid: string | null;
  readonly description: string | null;
  readonly returnUrl: string | null;
  readonly stock: number | null;
  /** Paid orders; at most 10,000 are counted. May exceed the stock by late payments that an operator accepted. */
  readonly sold: number;
  /** Orders that wait for a payment or its confirmation; at most 10,000 are counted. */
  readonly reserved: number;
  /** Unix seconds, as the next two. */
  readonly expiresAt: number | null;
  readonly closedAt: number | null;
  readonly createdAt: number;
}

export interface LinkPage {
  /** 1 to 100. @default 20 */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly before?: string;
}

export interface PaymentLinks {
  /** Newest first. */
  readonly links: readonly PaymentLink[];
  /** Null at the end. */
  readonly next: string | null;
}
