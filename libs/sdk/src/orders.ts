/** A network and what it is paid on, as the API names it. */
export type Chain =
  | 'TRON'
  | 'TRON_TEST'
  | 'ETH'
  | 'ETH_SEPOLIA'
  | 'BSC'
  | 'BSC_TEST'
  | 'POLYGON'
  | 'POLYGON_AMOY'
  | 'AVAX_C_CHAIN'
  | 'AVAX_FUJI_TEST'
  | 'SUI'
  | 'SUI_TEST';

/** INIT waits for money, PENDING has some of it, PENDING_CONFIRMATION all of it; the others are ends. */
export type OrderStatus = 'INIT' | 'PENDING' | 'PENDING_CONFIRMATION' | 'SUCCESS' | 'EXPIRED' | 'FAILED';
export type OrderType = 'COLLECTION' | 'PAYOUT';

/** What both kinds of orders are made of. */
export interface OrderFields {
  /**
   * Your own id of the order, unique among all of yours: 1 to 64 letters, digits and `_ - . : ~ @`. The same id with the
   * same fields is the same order, however often it is sent: that is what makes it safe to ask again.
   */
  readonly orderId: string;
  /** In units of the token, as a decimal string: "12.50". Never a float. */
  readonly amount: string;
  readonly symbol: string;
  readonly chain: Chain;
  /** Your customer's id; comes back in every answer and callback. */
  readonly uid?: string | number;
}

/** An order that a customer pays. */
export interface CollectionFields extends OrderFields {
  /** Where the checkout leads back to; its origin must be on your list. */
  readonly returnUrl?: string;
  /** Shown at the checkout; at most 120 characters. */
  readonly description?: string;
  /** Life of the order in seconds, 60 to 86,400. */
  readonly expiresIn?: number;
}

/** An order that is paid to somebody. */
export interface PayoutFields extends OrderFields {
  readonly receiveAddress: string;
}

/** An order as it was created. */
export interface CreatedOrder {
  /** Of a collection: where to pay. Of a payout: the wallet that pays. */
  readonly address: string;
  readonly amount: string;
  readonly symbol: string;
  readonly chain: Chain;
  readonly uid: string | null;
  readonly orderId: string;
  /** Unix seconds. */
  readonly expiredTime: number;
  /** The checkout page; null for a payout. */
  readonly paymentUrl: string | null;
}

/** The transaction that paid an order. Amounts are decimal strings. */
export interface Transaction {
  readonly chain: Chain;
  readonly symbol: string;
  /** Null for a chain's own coin. */
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly txid: string;
  readonly from: string;
  readonly to: string;
  readonly amount: string;
  readonly blockNum: number;
  readonly confirmedNum: number;
  readonly status: 'PENDING' | 'SUCCESS' | 'FAILED';
  /** Unix seconds of the block. */
  readonly timestamp: number;
  /** Network fee in the chain's own coin; null while it is unknown. */
  readonly txGas: string | null;
}

/** All that is known of an order; also what its callbacks carry. */
export interface Order {
  readonly orderId: string;
  readonly uid: string | null;
  readonly orderType: OrderType;
  readonly status: OrderStatus;
  /** Why it is as it is: `Underpaid`, `Payout expired` … */
  readonly reason: string | null;
  readonly amount: string;
  /** What came, confirmed; null while nothing did. May be more or less than `amount`. */
  readonly actualAmount: string | null;
  readonly fee: '0';
  readonly feeRatio: '0';
  readonly transaction: Transaction | null;
}

/** What the checkout page shows of a collection. */
export interface CheckoutOrder {
  readonly orderId: string;
  readonly chain: Chain;
  readonly symbol: string;
  /** Null for a chain's own coin. */
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly address: string;
  readonly amount: string;
  readonly actualAmount: string | null;
  readonly expiredTime: number;
  readonly status: OrderStatus;
  readonly reason: string | null;
  /** What was seen in time so far, confirmed or not. */
  readonly receivedAmount: string;
  readonly txid: string | null;
  /** Where people can look at `txid`; null while there is none, or no explorer is configured. */
  readonly explorerUrl: string | null;
  readonly confirmedNum: number;
  /** Null: the chain itself says what is final. */
  readonly requiredConfirmations: number | null;
  readonly returnUrl: string | null;
  readonly description: string | null;
  /** Unix seconds at the gateway. */
  readonly serverTime: number;
}

/** A token on a chain that this gateway takes. */
export interface SupportedSymbol {
  readonly symbol: string;
  readonly chain: Chain;
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly minAmount: string | null;
  readonly maxAmount: string | null;
}
