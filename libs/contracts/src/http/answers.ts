import type { Chain } from '@opentill/domain/chains';
import type { OrderStatus } from '../notify-order.ts';

/** The envelope of every answer (seed.md 2.2), in this order of keys. */
export interface AnswerEnvelope<Data> {
  readonly code: number;
  readonly msg: string;
  readonly data: Data | null;
}

/** `data` of createCollection and createPayout (docs/api.md section 4). */
export interface OrderAnswer {
  /** COLLECTION: the deposit address. PAYOUT: the hot wallet it is sent from. In the form shown to people. */
  readonly address: string;
  readonly amount: string;
  readonly symbol: string;
  readonly chain: Chain;
  readonly uid: string | null;
  readonly orderId: string;
  /** Unix seconds. */
  readonly expiredTime: number;
  /** The hosted checkout; null for a payout. */
  readonly paymentUrl: string | null;
}

/** `data` of GET pay: PayinOrderVo and what the checkout page needs besides (docs/api.md section 4). */
export interface PayinOrderAnswer {
  readonly orderId: string;
  readonly chain: Chain;
  readonly symbol: string;
  /** null for the native coin; the coin type on SUI. */
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly address: string;
  readonly amount: string;
  readonly actualAmount: string | null;
  readonly expiredTime: number;
  readonly status: OrderStatus;
  readonly reason: string | null;
  /** Sum of what was detected in time so far, confirmed or not. */
  readonly receivedAmount: string;
  readonly txid: string | null;
  /** Where people can look at `txid`; null while there is none, or no explorer is configured. */
  readonly explorerUrl: string | null;
  /** Confirmations of `txid` now; 0 while there is none. */
  readonly confirmedNum: number;
  /** null: the chain's finalized tag decides. */
  readonly requiredConfirmations: number | null;
  readonly returnUrl: string | null;
  readonly description: string | null;
  /** Unix seconds at the server, for the page's countdown. */
  readonly serverTime: number;
}

/** `data` of GET getOrderStatus. */
export interface OrderStatusAnswer {
  readonly status: OrderStatus;
}

/** An element of the `data` of GET supportSymbols. */
export interface SupportedSymbolAnswer {
  readonly symbol: string;
  readonly chain: Chain;
  /** null for the native coin; the coin type on SUI. */
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly minAmount: string | null;
  readonly maxAmount: string | null;
}
