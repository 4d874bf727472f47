import type { OrderToFormat, TransferToFormat } from '@opentill/contracts/format-order';
import type { NotifyType, OrderStatus } from '@opentill/contracts/notify-order';
import type { Chain } from '@opentill/domain/chains';
import type { CountedSums } from '@opentill/domain/collection-sums';
import type { LedgerEntry } from '@opentill/domain/ledger';
import type { BaseUnits } from '@opentill/domain/money';
import type { CollectionState } from '@opentill/domain/settle-collection';
import type { TransferBooking, UnmatchedReason } from '@opentill/domain/settle-transfer';

/** What saving and observing need of an order. */
export interface SettledOrder {
  readonly orderPk: string;
  readonly merchantId: string;
  readonly orderId: string;
  readonly chain: Chain;
  /** As it was before. */
  readonly status: OrderStatus;
}

/** A collection whose row this transaction has locked. */
export interface LockedOrder extends Omit<OrderToFormat, 'actualAmount'>, CollectionState {
  readonly orderPk: string;
  readonly merchantId: string;
  /** The merchant wants ORDER_REVERTED. */
  readonly notifyReverted: boolean;
  readonly acceptedAmount: BaseUnits;
  /** Expiry plus the late grace, unix time. */
  readonly cutoffSeconds: number;
  /** When the last callback for late payments was written. */
  readonly lateCallbackAt: Date | null;
}

/** What is known of an order's chain and address, read in one snapshot after the order was locked. */
export interface OrderFacts {
  /** Both 0 while the chain has no cursor. The seen height is what is shown to people. */
  readonly seenHeight: number;
  readonly verifiedHeight: number;
  readonly verifiedTimeSeconds: number;
  /** Sequence of the last notification of the order; 0 for none. */
  readonly lastSequence: number;
  readonly counted: CountedSums;
  /**
   * The transfers that the selection names, to the address on any chain of the family, and those once settled for the order
   * that went elsewhere when they were mined again.
   */
  readonly transfers: readonly TransferRow[];
  /** In the sums, but still settled for another order, or booked as a hot wallet's, since a reorganisation moved them here. */
  readonly elsewhere: readonly TransferRow[];
  /** In the sums, and given back. */
  readonly refunded: readonly TransferRow[];
  /** The newest transfer that the order asks for and that is not orphaned, for callbacks. */
  readonly newest: TransferRow | undefined;
}

/** A transfer with what the tracker has made of it. */
export interface TransferRow extends TransferToFormat {
  readonly transferId: number;
  readonly chain: Chain;
  readonly symbol: string;
  readonly contractAddress: string | null;
  readonly amount: BaseUnits;
  readonly firstBlockTimeSeconds: number;
  readonly version: number;
  /** Mined again it went to another address: for this order it is ORPHANED. */
  readonly wentElsewhere: boolean;
  /** What the tracker has seen of its own chain, for transfers on another one than the order's. */
  readonly seenHeight: number;
  /** Something of it was given back, or is about to be. */
  readonly refunded: boolean;
  /** An operator accepted it, just as it is, for its order, which did not ask for it. */
  readonly accepted: boolean;
  readonly updatedAt: Date;
  /** Null before the first time. */
  readonly settledVersion: number | null;
  readonly booking: TransferBooking;
  readonly unmatched: { readonly reason: UnmatchedReason; readonly withdrawn: boolean } | null;
}

/** A callback that will be sent, fixed now. */
export interface NotificationRow {
  readonly eventId: string;
  readonly sequence: number;
  readonly notifyType: NotifyType;
  readonly data: string;
}

export interface SettlementRow {
  readonly transferId: number;
  readonly settledVersion: number;
  /** Null leaves the transfer to the order of the address that it went to. */
  readonly orderPk: string | null;
  readonly bookedAmount: BaseUnits | null;
  readonly bookedSymbol: string | null;
  readonly bookings: number;
  readonly credited: boolean;
}

export interface UnmatchedRow {
  readonly transferId: number;
  readonly reason: UnmatchedReason;
  /** It lies unmatched no more: gone, or credited after all. */
  readonly withdrawn: boolean;
}

/** Something that should never be, and a hold on the payouts of its asset until an operator has looked. */
export interface IncidentRow {
  readonly incidentId: string;
  readonly holdId: string;
  readonly kind: 'CREDITED_TRANSFER_ORPHANED' | 'PAYOUT_ORPHANED' | 'PAYOUT_SHORT' | 'TOP_UP_ORPHANED';
  /** Null where it is about no transfer. */
  readonly transferId: number | null;
  readonly chain: Chain;
  readonly symbol: string;
  readonly holdReason: string;
  readonly details: Readonly<Record<string, string | number>>;
}

/** What becomes of an order's row. */
export interface MovedOrder {
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly detectedAmount: BaseUnits;
  readonly actualAmount: BaseUnits | null;
  /** How many moves it made, which its version grows by. */
  readonly steps: number;
  /** Null or absent, also of payouts: there was none. */
  readonly lateCallbackAt?: Date | null;
  /** Null or absent when no late payment waits to be reported. */
  readonly lateCallbackDueAt?: Date | null;
}

/** Everything that one settlement of an order writes. */
export interface OrderOutcome {
  readonly order: SettledOrder;
  /** Null when the order itself stays as it is. */
  readonly moved: MovedOrder | null;
  /** Whether the operator's decision was carried out; false where there was none, or nothing could be done for it any more. */
  readonly isDecided: boolean;
  readonly notifications: readonly NotificationRow[];
  readonly settlements: readonly SettlementRow[];
  readonly unmatched: readonly UnmatchedRow[];
  readonly incidents: readonly IncidentRow[];
  /** Credited transfers of earlier incidents that are verified again. */
  readonly creditedAgain: readonly { readonly transferId: number; readonly booking: number }[];
  /** In the order in which they must be posted. */
  readonly entries: readonly LedgerEntry[];
  /** The newest change of the chain that was not settled before, for measuring how long it took. */
  readonly newestChangeAt: Date | null;
}

/** A transfer to a hot wallet, or one that was booked as such, as it was read. */
export interface HotWalletTransfer {
  readonly transferId: number;
  readonly version: number;
}

/** What changed in the ledger for one transfer; amounts null where nothing stands, or nothing stood. */
export interface BookedTopUp {
  readonly transferId: number;
  readonly chain: Chain;
  readonly symbol: string;
  readonly booked: bigint | null;
  readonly takenBack: bigint | null;
}
