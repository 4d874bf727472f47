import type { Chain } from '@opentill/domain/chains';
import type { NotifyOrder, OrderPrice, OrderStatus, UnmatchedTransfer } from '../notify-order.ts';

/** The envelope of every answer (docs/api.md section 1); the order of keys is part of the contract. */
export interface AnswerEnvelope<Data> {
  readonly code: number;
  readonly msg: string;
  readonly data: Data | null;
  /** Only of errors: field, problem, allowed values. */
  readonly detail?: string;
}

/** How expensive a payment usually is for the customer. */
export type FeeClass = 'LOW' | 'MEDIUM' | 'HIGH';

/** A coin in which an order may be paid. */
export interface OptionAnswer {
  readonly chain: Chain;
  readonly chainName: string;
  readonly symbol: string;
  /** Null for the native coin; the coin type on SUI. */
  readonly contractAddress: string | null;
  /** Pays the order completely. */
  readonly amount: string;
  /** Price of one coin in the order's currency, before the markup: a decimal string. */
  readonly rate: string;
  /** Null where it is not known. */
  readonly feeClass: FeeClass | null;
  /** Null: the chain's finality decides. */
  readonly requiredConfirmations: number | null;
  /** Until a payment is confirmed, by the usual time between blocks. Null for a chain that is no longer configured. */
  readonly expectedSeconds: number | null;
  /** EIP-155 chain id; null for TRON and SUI. */
  readonly chainId: number | null;
  readonly isTestNetwork: boolean;
  /** The customer has seen the address for this coin. */
  readonly chosen: boolean;
}

/** Members of an order with options. Absent for an order of one coin. */
export interface OrderOptions {
  /** False: `address` is null, and the members of coin and amount are those of the first option. */
  readonly chosen: boolean;
  readonly options: readonly OptionAnswer[];
}

/** `data` of createCollection and createPayout (docs/api.md section 4). */
export interface OrderAnswer extends Partial<OrderPrice> {
  /** COLLECTION: the deposit address. PAYOUT: the hot wallet. In display form. */
  readonly address: string;
  readonly amount: string;
  readonly symbol: string;
  readonly chain: Chain;
  readonly uid: string | null;
  readonly orderId: string;
  /** Unix seconds. */
  readonly expiredTime: number;
  readonly paymentUrl: string | null;
  /** Only when a repeated request finds an order that has ended. */
  readonly status?: 'SUCCESS' | 'EXPIRED' | 'FAILED';
}

/** `data` of createCollection for an order that the customer may pay in several coins. */
export interface OpenOrderAnswer extends Omit<OrderAnswer, 'address'>, OrderOptions {
  /** Null until an option is chosen. */
  readonly address: string | null;
}

/** Shown on the checkout page. All may be null. */
export interface MerchantProfile {
  readonly name: string | null;
  /** Path below the base URL of the API, with a version of the logo: `/m/<merchantId>/logo?v=…`. */
  readonly logoUrl: string | null;
  /** `#rrggbb` in lower case. */
  readonly accentColor: string | null;
  readonly supportUrl: string | null;
  readonly supportEmail: string | null;
  readonly shopUrl: string | null;
}

export interface UnmatchedPayment extends UnmatchedTransfer {
  readonly chainName: string;
  /** Null without a configured explorer. */
  readonly explorerUrl: string | null;
}

/** Detected in time in one coin, of at most 1,000 transfers. */
export interface CoinPayment {
  readonly chain: Chain;
  readonly symbol: string;
  /** Decimal string. */
  readonly amount: string;
}

/** `data` of GET pay and of choose (docs/api.md section 4). */
export interface PayinOrderAnswer extends Partial<OrderPrice>, Partial<OrderOptions> {
  readonly orderId: string;
  readonly chain: Chain;
  /** From the networks file, for display. */
  readonly chainName: string;
  readonly symbol: string;
  /** Null for the native coin; the coin type on SUI. */
  readonly contractAddress: string | null;
  readonly decimals: number;
  /** Null until an option is chosen. */
  readonly address: string | null;
  readonly amount: string;
  readonly actualAmount: string | null;
  readonly expiredTime: number;
  readonly status: OrderStatus;
  readonly reason: string | null;
  /** Sum of transfers detected in time so far, confirmed or not. */
  readonly receivedAmount: string;
  readonly txid: string | null;
  /** Explorer page of `txid`; null while there is no txid or no explorer is configured. */
  readonly explorerUrl: string | null;
  /** Contains `{txid}`; null without a configured explorer. */
  readonly explorerTxUrl: string | null;
  /** Unix seconds of the block of `txid`; null while there is no txid. */
  readonly transactionTime: number | null;
  readonly confirmedNum: number;
  readonly requiredConfirmations: number | null;
  readonly returnUrl: string | null;
  readonly description: string | null;
  /** Unix seconds; the page's countdown follows this clock. */
  readonly serverTime: number;
  readonly merchant: MerchantProfile;
  /** The chain is a test network: its tokens have no value. */
  readonly isTestNetwork: boolean;
  /** EIP-155 chain id; null for TRON and SUI. */
  readonly chainId: number | null;
  /** Newest first, at most UNMATCHED_SHOWN of format-unmatched.ts. */
  readonly unmatched: readonly UnmatchedPayment[];
  /** At most UNMATCHED_COUNTED of format-unmatched.ts. */
  readonly unmatchedCount: number;
  /** Only of an order with options: what was paid in each coin. */
  readonly payments?: readonly CoinPayment[];
}

/** `data` of GET status. */
export interface OrderStateAnswer extends NotifyOrder {
  readonly unmatched: readonly UnmatchedPayment[];
}

/** `data` of GET getOrderStatus. */
export interface OrderStatusAnswer {
  readonly status: OrderStatus;
  readonly unmatched: readonly UnmatchedPayment[];
}

export interface SupportedSymbolAnswer {
  readonly symbol: string;
  readonly chain: Chain;
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly minAmount: string | null;
  readonly maxAmount: string | null;
}

/** Decimal strings: exactly one of `amount`, `price`, the pair of amounts or the pair of prices. */
export interface LinkValue {
  readonly amount?: string;
  readonly price?: string;
  readonly minAmount?: string;
  readonly maxAmount?: string;
  readonly minPrice?: string;
  readonly maxPrice?: string;
  /** ISO 4217, with prices. */
  readonly currency?: string;
}

export type LinkState = 'OPEN' | 'SOLD_OUT' | 'EXPIRED' | 'CLOSED';

/** A payment link (docs/api.md section 10). Times are Unix seconds. */
export interface LinkAnswer extends LinkValue {
  readonly linkId: string;
  /** The page of the link. */
  readonly url: string;
  readonly state: LinkState;
  /** Null, like the chain: the customer chooses the coin. */
  readonly symbol: string | null;
  readonly chain: Chain | null;
  /** Coins that the customer may choose. Null without a symbol: all enabled coins. */
  readonly accept: readonly { readonly chain: Chain; readonly symbol: string }[] | null;
  readonly uid: string | null;
  readonly description: string | null;
  readonly returnUrl: string | null;
  readonly stock: number | null;
  /** At most LINK_STOCK_MAX are counted, as of `reserved`. */
  readonly sold: number;
  readonly reserved: number;
  readonly expiresAt: number | null;
  readonly closedAt: number | null;
  readonly createdAt: number;
}

export interface LinksAnswer {
  /** Newest first. */
  readonly links: readonly LinkAnswer[];
  /** `before` of the next page; null at the end. */
  readonly next: string | null;
}
