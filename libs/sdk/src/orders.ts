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
  | 'BASE'
  | 'BASE_SEPOLIA'
  | 'ARBITRUM'
  | 'ARBITRUM_SEPOLIA'
  | 'OPTIMISM'
  | 'OPTIMISM_SEPOLIA'
  | 'SUI'
  | 'SUI_TEST'
  // An EVM chain of the gateway's networks file. The intersection keeps the completion of the names above.
  | (string & {});

/** INIT: no payment. PENDING: partly paid. PENDING_CONFIRMATION: fully paid, unconfirmed. The others are final. */
export type OrderStatus = 'INIT' | 'PENDING' | 'PENDING_CONFIRMATION' | 'SUCCESS' | 'EXPIRED' | 'FAILED';
export type OrderType = 'COLLECTION' | 'PAYOUT';

/** A token on a chain. */
export interface Coin {
  readonly chain: Chain;
  readonly symbol: string;
}

interface IdFields {
  /** Your own unique id: 1 to 64 letters, digits and `_ - . : ~ @`. Repeating a call with it returns the same order. */
  readonly orderId: string;
  /** Your customer's id. Every response and callback contains it. */
  readonly uid?: string | number;
}

interface SharedFields extends IdFields, Coin {}

export interface OrderFields extends SharedFields {
  /** Decimal string in units of the token: "12.50". Never a float. */
  readonly amount: string;
}

interface CheckoutFields {
  /** The checkout page links back to it. Its origin must be on your list. */
  readonly returnUrl?: string;
  /** Shown on the checkout page; at most 120 characters. */
  readonly description?: string;
  /** Seconds, 60 to 86,400. */
  readonly expiresIn?: number;
}

/** Instead of an amount. The gateway computes the amount once, by its rate. */
export interface PriceFields {
  /** Decimal string in units of the currency: "49.90". Never a float. */
  readonly price: string;
  /** ISO 4217. The gateway must have rates in it. */
  readonly currency: string;
}

export interface CollectionFields extends OrderFields, CheckoutFields {}

/** A collection with a price in a currency instead of an amount. */
export interface PricedCollectionFields extends SharedFields, CheckoutFields, PriceFields {
  readonly amount?: undefined;
}

/** A price that the customer may pay in one of several coins. */
export interface OpenCollectionFields extends IdFields, CheckoutFields, PriceFields {
  readonly amount?: undefined;
  readonly chain?: undefined;
  readonly symbol?: undefined;
  /** 1 to 50 coins. @default all that are enabled and have a rate */
  readonly accept?: readonly Coin[];
}

/** Only of an order with a price. */
export interface OrderPrice {
  readonly currency?: string;
  readonly price?: string;
  /** Price of one coin in the currency, before your markup. */
  readonly rate?: string;
}

export interface PayoutFields extends OrderFields {
  readonly receiveAddress: string;
}

export interface CreatedOrder extends OrderPrice {
  /** Collection: the deposit address. Payout: the wallet that pays. */
  readonly address: string;
  readonly amount: string;
  readonly symbol: string;
  readonly chain: Chain;
  readonly uid: string | null;
  readonly orderId: string;
  /** Unix seconds. */
  readonly expiredTime: number;
  readonly paymentUrl: string | null;
  /** Only when the call repeats an order that has ended: do not show its address, use a new `orderId`. */
  readonly status?: 'SUCCESS' | 'EXPIRED' | 'FAILED';
}

/** A coin in which an order may be paid. */
export interface OrderOption extends Coin {
  readonly chainName: string;
  /** Null for a chain's own coin. */
  readonly contractAddress: string | null;
  /** Pays the order completely. */
  readonly amount: string;
  /** Price of one coin in the currency, before your markup. */
  readonly rate: string;
  /** Usual network fee for your customer; null where it is not known. */
  readonly feeClass: 'LOW' | 'MEDIUM' | 'HIGH' | null;
  /** Null when the chain's finality decides. */
  readonly requiredConfirmations: number | null;
  /** Usual time until a payment is confirmed. */
  readonly expectedSeconds: number | null;
  readonly chainId: number | null;
  readonly isTestNetwork: boolean;
  /** Your customer has seen the address for it. */
  readonly chosen: boolean;
}

interface OrderOptions {
  /** False: there is no address yet, and coin and amount are those of the first option. */
  readonly chosen: boolean;
  readonly options: readonly OrderOption[];
}

/** Your customer chooses the coin at `paymentUrl`, or you do by `choose`. */
export interface OpenOrder extends Omit<CreatedOrder, 'address'>, OrderOptions {
  /** Null until a coin is chosen. */
  readonly address: string | null;
}

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
  /** Unix time of the block, in seconds. */
  readonly timestamp: number;
  /** In the chain's own coin; null while unknown. */
  readonly txGas: string | null;
}

export type UnmatchedReason =
  /** Another token. */
  | 'WRONG_TOKEN'
  /** Another chain of the same family. */
  | 'WRONG_CHAIN'
  /** After expiry. */
  | 'LATE'
  /** Too little, and the order expired. */
  | 'UNDERPAID'
  /** The order was already paid. */
  | 'AFTER_SUCCESS'
  /** The order was refused. */
  | 'ORDER_FAILED';

/** A payment that arrived at the order's address and does not count for it. */
export interface UnmatchedTransfer {
  readonly chain: Chain;
  readonly symbol: string;
  readonly amount: string;
  readonly txid: string;
  readonly reason: UnmatchedReason;
}

export interface UnmatchedPayment extends UnmatchedTransfer {
  readonly chainName: string;
  /** Null without a configured explorer. */
  readonly explorerUrl: string | null;
}

/** Shown on the checkout page. */
export interface MerchantProfile {
  readonly name: string | null;
  /** Path below the base URL of the API. */
  readonly logoUrl: string | null;
  /** `#rrggbb` */
  readonly accentColor: string | null;
  readonly supportUrl: string | null;
  readonly supportEmail: string | null;
  readonly shopUrl: string | null;
}

/** Only of an order with options: the coin of its amounts. */
interface OrderCoin extends Partial<Coin> {
  readonly chosen?: boolean;
}

/** An order as callbacks contain it. */
export interface Order extends OrderPrice, OrderCoin {
  readonly orderId: string;
  readonly uid: string | null;
  /** Only of an order that a payment link opened. */
  readonly linkId?: string;
  readonly orderType: OrderType;
  readonly status: OrderStatus;
  /** `Underpaid`, `Payout expired` … */
  readonly reason: string | null;
  readonly amount: string;
  /** Confirmed amount; null before the first payment. It may differ from `amount`. */
  readonly actualAmount: string | null;
  readonly fee: '0';
  readonly feeRatio: '0';
  readonly transaction: Transaction | null;
}

/** Newest first, at most 20. */
export interface OrderWithUnmatched extends Order {
  readonly unmatched: readonly UnmatchedPayment[];
}

export interface CheckoutOrder extends OrderPrice, Partial<OrderOptions> {
  readonly orderId: string;
  readonly chain: Chain;
  /** For display. */
  readonly chainName: string;
  readonly symbol: string;
  /** Null for a chain's own coin. */
  readonly contractAddress: string | null;
  readonly decimals: number;
  /** Null until one of several coins is chosen. */
  readonly address: string | null;
  readonly amount: string;
  readonly actualAmount: string | null;
  readonly expiredTime: number;
  readonly status: OrderStatus;
  readonly reason: string | null;
  /** Amount received in time so far, confirmed or not. */
  readonly receivedAmount: string;
  readonly txid: string | null;
  /** Null without a transaction or a configured explorer. */
  readonly explorerUrl: string | null;
  /** Contains `{txid}`; null without a configured explorer. */
  readonly explorerTxUrl: string | null;
  /** Unix seconds of the block of `txid`; null without a transaction. */
  readonly transactionTime: number | null;
  readonly confirmedNum: number;
  /** Null when the chain's finalized block decides, or its safe block: then a credited payment can be taken back. */
  readonly requiredConfirmations: number | null;
  readonly returnUrl: string | null;
  readonly description: string | null;
  /** Unix seconds. */
  readonly serverTime: number;
  readonly merchant: MerchantProfile;
  readonly isTestNetwork: boolean;
  /** EIP-155 chain id; null for TRON and SUI. Absent from gateways before 0.2.0. */
  readonly chainId?: number | null;
  /** Newest first, at most 20. */
  readonly unmatched: readonly UnmatchedPayment[];
  /** All of them; at most 1,000 are counted. */
  readonly unmatchedCount: number;
  /** Only of an order with options: what was paid in each coin. */
  readonly payments?: readonly (Coin & { readonly amount: string })[];
}

export interface SupportedSymbol {
  readonly symbol: string;
  readonly chain: Chain;
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly minAmount: string | null;
  readonly maxAmount: string | null;
}
