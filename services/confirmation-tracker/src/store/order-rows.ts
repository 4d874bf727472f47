import type { OrderToFormat, TransferToFormat } from '@opentill/contracts/format-order';
import type { NotifyType, OrderStatus } from '@opentill/contracts/notify-order';
import type { Chain } from '@opentill/domain/chains';
import type { CountedSums } from '@opentill/domain/collection-sums';
import type { LedgerEntry } from '@opentill/domain/ledger';
import type { BaseUnits } from '@opentill/domain/money';
import type { CollectionState } from '@opentill/domain/settle-collection';
import type { TransferBooking, UnmatchedReason } from '@opentill/domain/settle-transfer';
import type { OrderSpan } from '@opentill/runtime/tracing';

export interface SettledOrder {
  readonly orderPk: string;
  readonly merchantId: string;
  readonly orderId: string;
  readonly chain: Chain;
  readonly amount: bigint;
  readonly choices?: number | null;
  readonly status: OrderStatus;
  /** W3C, from its creation. */
  readonly traceparent: string | null;
}

/** A coin that an order accepts. */
export interface OrderCoin {
  readonly chain: Chain;
  readonly symbol: string;
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  readonly confirmationsRequired: number | null;
  /** Base units that pay the order completely; null if the order accepts no other coin. */
  readonly whole: bigint | null;
}

/** With options `acceptedAmount`, `detectedAmount` and `actualAmount` are shares (order-shares of libs/domain). */
export interface LockedOrder extends Omit<OrderToFormat, 'actualAmount'>, CollectionState {
  readonly orderPk: string;
  readonly merchantId: string;
  readonly traceparent: string | null;
  /** The merchant has enabled ORDER_REVERTED. */
  readonly notifyReverted: boolean;
  readonly acceptedAmount: BaseUnits;
  /** Null for an order of one coin, else the number of options that were chosen. */
  readonly choices: number | null;
  readonly coins: readonly OrderCoin[];
  /** Expiry plus late grace, since 1970. */
  readonly cutoffSeconds: number;
  /** The merchant has enabled ORDER_UNMATCHED. */
  readonly notifyUnmatched: boolean;
  /** Time of the last callback for late payments. */
  readonly lateCallbackAt: Date | null;
  /** Time of the last ORDER_UNMATCHED. */
  readonly unmatchedCallbackAt: Date | null;
  /** An unmatched deposit waits for the next ORDER_UNMATCHED. */
  readonly owesUnmatchedCallback: boolean;
}

/** Read in one snapshot after locking the order. */
export interface OrderFacts {
  /** The earliest of the chains whose addresses the customer saw. Before the first choice: the database's time. */
  readonly verifiedTimeSeconds: number;
  /** 0 if there is no notification yet. */
  readonly lastSequence: number;
  readonly counted: CountedSums;
  /**
   * Named by the selection, at the address on any chain of the family. Also those once settled for the order that paid
   * another address when mined again.
   */
  readonly transfers: readonly TransferRow[];
  /**
   * Included in the sums; moved here by a reorganisation, and still settled for another order or booked to a hot
   * wallet.
   */
  readonly elsewhere: readonly TransferRow[];
  /** Included in the sums. */
  readonly refunded: readonly TransferRow[];
  /** The newest unmatched deposits that callbacks list; empty unless the merchant has enabled ORDER_UNMATCHED. */
  readonly unmatched: readonly TransferRow[];
  /** Newest transfer of the ordered asset that is not orphaned, for callbacks. After SUCCESS: the newest credited one. */
  readonly newest: TransferRow | undefined;
}

export interface TransferRow extends TransferToFormat {
  readonly transferId: number;
  readonly chain: Chain;
  readonly symbol: string;
  readonly contractAddress: string | null;
  readonly amount: BaseUnits;
  readonly firstBlockTimeSeconds: number;
  readonly version: number;
  /** When mined again it paid another address; for this order it is ORPHANED. */
  readonly wentElsewhere: boolean;
  /** Heights of the transfer's chain, which may differ from the order's. 0 while the chain has no cursor. */
  readonly seenHeight: number;
  readonly verifiedHeight: number;
  /** Fully or partly refunded, or a refund is pending. */
  readonly refunded: boolean;
  /** An operator accepted it, unchanged, although the order did not ask for it. */
  readonly accepted: boolean;
  readonly updatedAt: Date;
  /** Null if never settled. */
  readonly settledVersion: number | null;
  readonly booking: TransferBooking;
  readonly unmatched: Omit<UnmatchedRow, 'transferId'> | null;
}

export interface NotificationRow {
  readonly eventId: string;
  readonly sequence: number;
  readonly notifyType: NotifyType;
  readonly data: string;
}

export interface SettlementRow {
  readonly transferId: number;
  readonly settledVersion: number;
  /** Null leaves the transfer to the order whose address it paid. */
  readonly orderPk: string | null;
  readonly bookedAmount: BaseUnits | null;
  readonly bookedSymbol: string | null;
  readonly bookings: number;
  readonly credited: boolean;
}

export interface UnmatchedRow {
  readonly transferId: number;
  readonly reason: UnmatchedReason;
  /** No longer unmatched: orphaned or credited. */
  readonly withdrawn: boolean;
  /** Below the minimum of its token: neither listed nor reported. */
  readonly dust: boolean;
  /** An ORDER_UNMATCHED has contained it. */
  readonly reported: boolean;
}

/** Also holds the asset's payouts until an operator releases it. */
export interface IncidentRow {
  readonly incidentId: string;
  readonly holdId: string;
  readonly kind: 'CREDITED_TRANSFER_ORPHANED' | 'PAYOUT_ORPHANED' | 'PAYOUT_SHORT' | 'TOP_UP_ORPHANED';
  readonly transferId: number | null;
  readonly chain: Chain;
  readonly symbol: string;
  readonly holdReason: string;
  readonly details: Readonly<Record<string, string | number>>;
}

export interface MovedOrder {
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly detectedAmount: BaseUnits;
  readonly actualAmount: BaseUnits | null;
  /** Number of status changes, added to its version; 0 if only the unmatched deposits changed. */
  readonly steps: number;
  readonly lateCallbackAt?: Date | null;
  readonly lateCallbackDueAt?: Date | null;
  readonly unmatchedCallbackAt?: Date | null;
  readonly unmatchedCallbackDueAt?: Date | null;
}

export interface OrderOutcome {
  readonly order: SettledOrder;
  readonly moved: MovedOrder | null;
  /** The operator's decision was carried out. */
  readonly isDecided: boolean;
  readonly notifications: readonly NotificationRow[];
  readonly settlements: readonly SettlementRow[];
  readonly unmatched: readonly UnmatchedRow[];
  /** Otherwise unchanged rows that an ORDER_UNMATCHED contains for the first time. */
  readonly reported: readonly UnmatchedRow[];
  /** Not in ORDER_UNMATCHED, because their token is no longer configured. */
  readonly unlisted: readonly TransferRow[];
  readonly incidents: readonly IncidentRow[];
  /** Their earlier incidents stay. */
  readonly creditedAgain: readonly { readonly transferId: number; readonly booking: number }[];
  /** In posting order. */
  readonly entries: readonly LedgerEntry[];
  /** For measuring latency. */
  readonly newestChangeAt: Date | null;
  /** Its trace continues in its callbacks. */
  readonly span?: OrderSpan | undefined;
}

/** Goes to a hot wallet, or is booked to one. */
export interface HotWalletTransfer {
  readonly transferId: number;
  readonly version: number;
}

/** null: no entry exists. */
export interface BookedTopUp {
  readonly transferId: number;
  readonly chain: Chain;
  readonly symbol: string;
  readonly booked: bigint | null;
  readonly takenBack: bigint | null;
}
