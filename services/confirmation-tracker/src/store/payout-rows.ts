import type { OrderToFormat } from '@opentill/contracts/format-order';
import type { PayoutTransaction } from '@opentill/contracts/format-payout';
import type { PayoutMoney } from '@opentill/db/payout-tables';
import type { MovementKind } from '@opentill/db/sweep-tables';
import type { Chain } from '@opentill/domain/chains';
import type { PayoutStatus } from '@opentill/domain/order-status';
import type { PayoutFacts, PayoutOrderState } from '@opentill/domain/settle-payout';

export type { PayoutMoney };

/** A payout's order whose row this transaction has locked. */
export interface LockedPayout extends Omit<OrderToFormat, 'actualAmount' | 'status'>, PayoutOrderState {
  readonly orderPk: string;
  readonly merchantId: string;
  readonly status: PayoutStatus;
  /** The merchant wants ORDER_REVERTED. */
  readonly notifyReverted: boolean;
  /** What the gateway moves of its own accord by it; null of a merchant's payout. */
  readonly movement: MovementKind | null;
}

/** A transaction of a payout with what the chain made of it, and what the tracker has made of that. */
export interface FateRow extends PayoutTransaction {
  readonly chain: Chain;
  readonly version: number;
  /** 0 before the first time. */
  readonly settledVersion: number;
  readonly updatedAt: Date;
}

/** The facts of a payout by which its amount was booked, in one snapshot after its order was locked. */
export interface KnownPayout extends Omit<PayoutFacts, 'fates'> {
  /** Where its amount was in the ledger before these facts. */
  readonly was: PayoutMoney;
  /** Where its amount is now. */
  readonly became: PayoutMoney;
  /** 0 while the chain has no cursor; what is shown to people. */
  readonly seenHeight: number;
  /** Sequence of the last notification of the order; 0 for none. */
  readonly lastSequence: number;
  /** Of those of its transactions that were in a block once, by block. */
  readonly fates: readonly FateRow[];
}

/** A fate by its key, and the version of it that is settled. */
export interface SettledFate {
  readonly chain: Chain;
  readonly txHash: string;
  readonly version: number;
}
