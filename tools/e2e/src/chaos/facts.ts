import type { NotifyOrder, OrderStatus } from '@opentill/contracts/notify-order';

/*
 * Input of a chaos run's checker: the gateway's tables and three independent sources that they are checked against.
 * These are the requests (terms), the chains, and the callbacks that the merchants' servers received.
 */

/** A collection as the gateway's answer confirmed it. */
export interface OrderTerms {
  readonly orderId: string;
  readonly chain: string;
  readonly symbol: string;
  /** Lower case. */
  readonly contract: string;
  /** Formatted like the answer, `12.50` for example. */
  readonly amountText: string;
  readonly amount: bigint;
  /** Deposit address, lower case. */
  readonly address: string;
  /** Unix seconds; blocks of this second are in time. */
  readonly expiresAtSeconds: number;
  /** A transaction that paid the order was in a replaced block. */
  readonly reorganised: boolean;
}

/** A payout as the gateway's answer confirmed it. */
export interface PayoutTerms {
  readonly orderId: string;
  readonly chain: string;
  readonly symbol: string;
  /** Lower case. */
  readonly contract: string;
  readonly amountText: string;
  readonly amount: bigint;
  /** Lower case. Unique to this payout, unless the policy refuses it. */
  readonly receiver: string;
  /** Reason for which the signer's policy refuses it. Null: it must be paid. */
  readonly refusal: string | null;
  readonly reorganised: boolean;
}

/** The hot wallet according to the chains. */
export interface HotWalletTruth {
  readonly sent: readonly ChainTransfer[];
  /** By `chain symbol`, native coin included. */
  readonly balances: ReadonlyMap<string, bigint>;
  readonly transactions: ReadonlyMap<string, number>;
}

/** A Transfer log to a deposit address, or from a hot wallet, in the canonical chain. */
export interface ChainTransfer {
  readonly chain: string;
  readonly txHash: string;
  readonly contract: string;
  readonly symbol: string;
  readonly to: string;
  readonly amount: bigint;
  readonly blockHeight: number;
  readonly blockHash: string;
  readonly blockTimeSeconds: number;
}

export interface Arrival {
  readonly nonce: string;
  readonly notifyType: string;
  /** The exact bytes of `data` in the body. */
  readonly dataText: string;
  readonly data: NotifyOrder;
  readonly signatureProblems: readonly string[];
}

export interface OrderRow {
  readonly orderPk: string;
  readonly orderId: string;
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly address: string;
  readonly amount: bigint;
  readonly actualAmount: bigint | null;
}

export interface PayoutRow {
  readonly orderPk: string;
  readonly orderId: string;
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly actualAmount: bigint | null;
}

export interface NonceRow {
  readonly chain: string;
  readonly nonce: number;
  readonly state: string;
}

export interface TransferRow {
  readonly transferId: number;
  readonly chain: string;
  readonly txHash: string;
  readonly contract: string;
  readonly to: string;
  readonly amount: bigint;
  readonly blockHeight: number;
  readonly blockHash: string;
  readonly state: string;
  readonly booked: boolean;
  readonly credited: boolean;
  readonly settledOrderPk: string | null;
  /** Reason in unmatched_deposit, unless withdrawn. */
  readonly unmatched: string | null;
}

export interface NotificationRow {
  readonly eventId: string;
  readonly orderPk: string;
  readonly sequence: number;
  readonly notifyType: string;
  readonly dataText: string;
  readonly deliveryState: string | null;
  /** Started attempts, counted by the delivery. */
  readonly attempts: number;
  readonly attemptsRecorded: number;
}

export interface LedgerAccountRow {
  readonly accountId: number;
  readonly kind: string;
  readonly chain: string;
  readonly symbol: string;
  readonly balance: bigint;
}

export interface LedgerTransactionRow {
  readonly ledgerTxId: number;
  readonly ref: string;
  readonly kind: string;
  readonly postings: readonly { readonly accountId: number; readonly amount: bigint }[];
}

export interface GatewayTables {
  readonly orders: readonly OrderRow[];
  readonly payouts: readonly PayoutRow[];
  readonly nonces: readonly NonceRow[];
  readonly transfers: readonly TransferRow[];
  readonly notifications: readonly NotificationRow[];
  readonly accounts: readonly LedgerAccountRow[];
  readonly ledger: readonly LedgerTransactionRow[];
  /** Counts that must be 0 at rest: waiting events, dead letters, incidents, holds. */
  readonly leftovers: Readonly<Record<string, number>>;
}

export interface ChaosFacts {
  readonly terms: readonly OrderTerms[];
  readonly payouts: readonly PayoutTerms[];
  readonly hotWallet: HotWalletTruth;
  readonly transfers: readonly ChainTransfer[];
  /** Sum of `balanceOf` of all deposit addresses, by `chain symbol`. */
  readonly balances: ReadonlyMap<string, bigint>;
  /** Time of each chain's block at the crediting depth. Orders that expired before it are final. */
  readonly decidedUntilSeconds: ReadonlyMap<string, number>;
  /** Transactions of replaced blocks, including those that were mined again. */
  readonly takenBack: ReadonlySet<string>;
  /** In the order of arrival at each merchant's server. */
  readonly arrivals: readonly Arrival[];
  /** Faults that may have prevented a webhook-sender from recording an attempt or reaching a merchant. */
  readonly senderFaults: number;
  readonly tables: GatewayTables;
}
