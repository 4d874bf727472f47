import type { NotifyOrder, OrderStatus } from '@opentill/contracts/notify-order';

/*
 * What the checker of a chaos run is given. Three witnesses that know nothing of each other: what was sent (terms),
 * what the chains say, what the merchant's server received; and the gateway's own tables, which they accuse.
 */

/** What the merchant asked to be paid, as the gateway's answer confirmed it. */
export interface OrderTerms {
  readonly orderId: string;
  readonly chain: string;
  readonly symbol: string;
  /** Lower case. */
  readonly contract: string;
  /** In the form of the answer, `12.50` for example. */
  readonly amountText: string;
  readonly amount: bigint;
  /** Deposit address, lower case. */
  readonly address: string;
  /** Unix seconds; blocks of this second are in time. */
  readonly expiresAtSeconds: number;
  /** A reorganisation took back a transaction that paid it, if only for a moment. */
  readonly reorganised: boolean;
}

/** What a merchant asked to be paid out, as the gateway's answer confirmed it. */
export interface PayoutTerms {
  readonly orderId: string;
  readonly chain: string;
  readonly symbol: string;
  /** Lower case. */
  readonly contract: string;
  readonly amountText: string;
  readonly amount: bigint;
  /** Lower case; of this payout alone, unless the policy refuses it. */
  readonly receiver: string;
  /** Why the signer's policy refuses it; null: it must be paid. */
  readonly refusal: string | null;
  /** A reorganisation took back a transaction that paid it, if only for a moment. */
  readonly reorganised: boolean;
}

/** What the chains say of the wallet that payouts leave from. */
export interface HotWalletTruth {
  /** Token transfers out of it in the canonical chains. */
  readonly sent: readonly ChainTransfer[];
  /** What it holds, by `chain symbol`; native coin by the network's own symbol. */
  readonly balances: ReadonlyMap<string, bigint>;
  /** How many transactions it has made, by chain. */
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
  /** The `data` of the body, to the byte. */
  readonly dataText: string;
  readonly data: NotifyOrder;
  /** Why its signatures don't hold. */
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

/** A nonce of the hot wallet that was given out. */
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
  /** Reason of the row of unmatched_deposit that is not withdrawn. */
  readonly unmatched: string | null;
}

export interface NotificationRow {
  readonly eventId: string;
  readonly orderPk: string;
  readonly sequence: number;
  readonly notifyType: string;
  readonly dataText: string;
  readonly deliveryState: string | null;
  /** Attempts that were begun, by the delivery's count. */
  readonly attempts: number;
  /** Attempts of which the outcome was written down. */
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
  /** What must be nothing at rest, by name: waiting events, dead letters, incidents, holds. */
  readonly leftovers: Readonly<Record<string, number>>;
}

export interface ChaosFacts {
  readonly terms: readonly OrderTerms[];
  readonly payouts: readonly PayoutTerms[];
  readonly hotWallet: HotWalletTruth;
  readonly transfers: readonly ChainTransfer[];
  /** What `balanceOf` says of all deposit addresses together, by `chain symbol`. */
  readonly balances: ReadonlyMap<string, bigint>;
  /** Block time of each chain's block at the crediting depth: what is older has been decided. */
  readonly decidedUntilSeconds: ReadonlyMap<string, number>;
  /** Every transaction that a reorganisation took back, whether it was mined again or not. */
  readonly takenBack: ReadonlySet<string>;
  /** At each merchant's server in the order of their arrival. */
  readonly arrivals: readonly Arrival[];
  /** How many faults may have kept a webhook-sender from writing down an attempt, or cut its way to a merchant. */
  readonly senderFaults: number;
  readonly tables: GatewayTables;
}
