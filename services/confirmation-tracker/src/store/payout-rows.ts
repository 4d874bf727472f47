import type { OrderToFormat } from '@opentill/contracts/format-order';
import type { PayoutTransaction } from '@opentill/contracts/format-payout';
import type { PayoutMoney } from '@opentill/db/payout-tables';
import type { MovementKind } from '@opentill/db/sweep-tables';
import type { Chain } from '@opentill/domain/chains';
import type { PayoutStatus } from '@opentill/domain/order-status';
import type { PayoutFacts, PayoutOrderState } from '@opentill/domain/settle-payout';

export type { PayoutMoney };

export interface LockedPayout extends Omit<OrderToFormat, 'actualAmount' | 'status'>, PayoutOrderState {
  readonly orderPk: string;
  readonly merchantId: string;
  readonly traceparent: string | null;
  readonly status: PayoutStatus;
  /** The merchant has enabled ORDER_REVERTED. */
  readonly notifyReverted: boolean;
  /** null: a merchant's payout. */
  readonly movement: MovementKind | null;
}

export interface FateRow extends PayoutTransaction {
  readonly chain: Chain;
  readonly version: number;
  /** 0 if never settled. */
  readonly settledVersion: number;
  readonly updatedAt: Date;
}

/** Read in one snapshot after locking the order. */
export interface KnownPayout extends Omit<PayoutFacts, 'fates'> {
  /** Ledger position of its amount before these facts, and now. */
  readonly was: PayoutMoney;
  readonly became: PayoutMoney;
  /** For display; 0 while the chain has no cursor. */
  readonly seenHeight: number;
  /** 0 if there is no notification yet. */
  readonly lastSequence: number;
  /** Outcomes of its transactions that were ever in a block, ordered by block. */
  readonly fates: readonly FateRow[];
}

export interface SettledFate {
  readonly chain: Chain;
  readonly txHash: string;
  readonly version: number;
}
