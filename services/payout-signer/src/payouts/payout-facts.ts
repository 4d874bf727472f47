import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Lease } from '@opentill/db/lease';
import type { MovementKind } from '@opentill/db/sweep-tables';
import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';

export interface WalletKey {
  readonly chain: Chain;
  readonly wallet: Address;
}

/** Row of table `movement`: money that the gateway moves without a merchant's request. Unverified database content. */
export interface Movement {
  readonly kind: MovementKind;
  readonly depositIndex: number | null;
  /** Cost of its sweep, or of itself if it goes to cold storage: base units of native coin. null: unknown. */
  readonly plannedCostBaseUnits: bigint | null;
  /** Part of that cost that the sweep's other movements have paid, without failed ones. */
  readonly paidByOthersBaseUnits: bigint;
}

/** Unverified database content. */
export interface PayoutFacts {
  readonly orderPk: string;
  readonly orderId: string;
  readonly merchantId: string;
  readonly symbol: string;
  readonly contract: string | null;
  readonly decimals: number;
  readonly receiver: string;
  readonly amountBaseUnits: BaseUnits;
  readonly wallet: Address;
  readonly movement: Movement | null;
  /** Key of its limits: the symbol. Movements other than refunds have a key of their own. */
  readonly countsAs: string;
  readonly obstacle: string | null;
}

export interface JudgedPayout extends PayoutFacts {
  /** Only approvals of the policy's approvers. */
  readonly approvals: readonly {
    readonly approver: string;
    readonly signature: Uint8Array;
    readonly approvedAt: Date;
  }[];
  readonly isReserved: boolean;
  /** It resembles a payment that a restored database does not know. */
  readonly mayBePaid: boolean;
  readonly paysOwnAddress: boolean;
  /** Past its expiry. Such a payout is only read while a known reason keeps it from expiring. */
  readonly isOverdue: boolean;
}

export interface RequestedPayout extends JudgedPayout {
  readonly waitingSince: Date | null;
  readonly obstacleAt: Date | null;
}

/** AUTHORISED, or SIGNED with a nonce that a foreign transaction used and decided as PAY_AGAIN. */
export interface UnsignedPayout extends JudgedPayout {
  /** SIGNED. Limit windows then count only its earlier attempts; for AUTHORISED ones also the next one. */
  readonly isSignedBefore: boolean;
  /** Transactions without a nonce that were signed for it, all of them proven dead; 0 on chains with nonces. */
  readonly attempts: number;
  readonly isDecidedAgain: boolean;
}

export interface PaidByDecision {
  readonly decisionId: string;
  readonly payout: PayoutFacts;
  readonly txHash: TxHash;
}

export interface KnownBlock {
  readonly height: number;
  readonly hash: BlockHash;
}

/** For operators (payout.obstacle). The payout is tried again until it expires. */
export type Obstacle =
  | 'NO_TOKENS'
  | 'NO_GAS'
  | 'WOULD_FAIL'
  | 'FEES_ABOVE_CAP'
  /** Nodes answer for other payments and not for this one. */
  | 'UNCLEAR'
  | 'NO_POLICY'
  | 'PAYOUTS_NOT_CONFIGURED'
  | 'HALTED'
  | 'ASSET_HELD'
  /** The scanner halted the chain, or its nodes failed the start-up checks. */
  | 'CHAIN_HALTED'
  /** The scanner has committed no block of the chain. */
  | 'CHAIN_BEHIND'
  /** The wallet sent transactions that the database does not know. The database may be older than they are. */
  | 'CHAIN_AHEAD'
  /** Database, process and chain differ too much for limits per time (compare-clocks.ts). */
  | 'CLOCKS_DIFFER'
  | 'POLICY_REFUSES'
  /**
   * A foreign transaction may have paid the payout, or as many attempts expired as the policy permits without a
   * decision.
   */
  | 'NEEDS_DECISION'
  /** The order names a token differently than the networks file. */
  | 'CONFIG_MISMATCH'
  | 'NOT_RESERVED'
  /** It may have been paid after the backup of this restored database. Operators decide; its expiry clock stops. */
  | 'MAYBE_PAID'
  /** Its expiry clock stops. */
  | 'NEEDS_APPROVAL';

export interface BalanceAlarms {
  readonly lowGas: bigint | undefined;
  readonly low: ReadonlyMap<string, bigint>;
  readonly aboveFloat: ReadonlyMap<string, bigint>;
}

/** By the database's clock: signed lately or still to be signed. Each attempt counts. */
export interface SpentRow {
  readonly countsAs: string;
  readonly merchantId: string;
  readonly lastHour: bigint;
  readonly lastDay: bigint;
  /** For approval; not part of the other two. */
  readonly waiting: bigint;
}

export interface Authorisations {
  readonly authorised: readonly string[];
  /** Their expiry clocks stop now. */
  readonly needApproval: readonly string[];
  /** Still waiting for approval after a new one arrived. */
  readonly stillNeedApproval: readonly string[];
  /** Need no more approval but are blocked by something else. From now on they are read with the blocked ones. */
  readonly heldBack: readonly string[];
  readonly refused: readonly { readonly orderPk: string; readonly reason: string }[];
  readonly obstacles: readonly { readonly orderPk: string; readonly obstacle: Obstacle }[];
}

/** SAVED: all. GONE: none, because these payouts may no longer be signed. STALE: none; read the view again. */
export type SaveOutcome =
  | { readonly kind: 'SAVED' }
  | { readonly kind: 'GONE'; readonly orderPks: readonly string[] }
  | { readonly kind: 'STALE' };

export interface PayoutsView {
  readonly now: Date;
  /** Reason why no new payout may be authorised or signed. */
  readonly halted: string | null;
  /** Unknown transactions may have paid payouts. Until the release none is refused, and none expires. */
  readonly isUncertain: boolean;
  readonly heldSymbols: ReadonlySet<string>;
  readonly requested: readonly RequestedPayout[];
  /** Last order key of a full page of blocked payouts. */
  readonly pageEnd: string | null;
  readonly unsigned: readonly UnsignedPayout[];
  readonly paidBy: readonly PaidByDecision[];
}

export interface ViewOptions {
  readonly requested: number;
  readonly unsigned: number;
  /** Reads blocked requested payouts only from behind this order key. */
  readonly after?: string | undefined;
  readonly everyWaiting: boolean;
  /** Public keys. Other approvals are ignored. */
  readonly approvers: readonly string[];
  readonly approvalWaitMs: number;
}

/** LATER: still open. NOT_POSSIBLE: rejected. */
export type Adoption =
  { readonly kind: 'DONE' | 'LATER' } | { readonly kind: 'NOT_POSSIBLE'; readonly why: string };

export interface BalanceRow {
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly amount: bigint;
}

/** A payout is in one of the lists, or unchanged. */
export interface AuthorisationDecisions {
  readonly authorised: readonly string[];
  readonly needApproval: readonly string[];
  /** Still waiting for approval after a new one arrived. */
  readonly stillNeedApproval: readonly string[];
  /** Need no more approval but are blocked by something else. They keep their place in the limits of the day. */
  readonly heldBack: readonly string[];
  readonly refused: readonly { readonly orderPk: string; readonly reason: string }[];
  readonly obstacles: readonly { readonly orderPk: string; readonly obstacle: Obstacle }[];
  /** Number of payouts that only wait for a free slot. No obstacle is written for them. */
  readonly waitForTurn: number;
}

export interface BlockedPayout {
  readonly payout: UnsignedPayout;
  readonly obstacle: Obstacle;
}

export interface FeePayer extends Pick<PayoutFacts, 'contract' | 'decimals' | 'amountBaseUnits'> {
  readonly movement: Pick<Movement, 'kind' | 'plannedCostBaseUnits' | 'paidByOthersBaseUnits'> | null;
}

/** CHAIN_AHEAD: forgotten transactions may have paid, so that the payouts must not expire. */
export type ChainObstacle = Extract<Obstacle, 'CHAIN_HALTED' | 'CHAIN_AHEAD'>;

export interface SentTransaction {
  readonly txHash: TxHash;
  readonly orderPk: string | null;
  readonly outcome: string;
  /** W3C: the event of the first sending continues this trace. */
  readonly traceparent?: string | undefined;
}

/** Each method with a lease asserts it first, in one transaction, and throws LEASE_LOST if another process holds it. */
export interface WalletStore<Sent extends SentTransaction = SentTransaction> {
  spent(): Promise<readonly SpentRow[]>;
  /** W3C `traceparent` of those orders that have one. */
  tracesOf(orderPks: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Also frees the nonces that the payouts hold. */
  saveObstacles(lease: Lease, obstacles: Authorisations['obstacles']): Promise<void>;
  /** Stored bytes, the only source of what is sent. */
  readRaw(txHashes: readonly TxHash[]): Promise<ReadonlyMap<TxHash, Uint8Array>>;
  /** @returns payouts that were sent for the first time; the tracker receives an event for them */
  recordSent(lease: Lease, sent: readonly Sent[]): Promise<readonly string[]>;
  dismiss(lease: Lease, decisionId: string, why: string): Promise<void>;
  saveBalances(
    lease: Lease,
    block: { readonly height: number; readonly hash: string },
    rows: readonly BalanceRow[],
  ): Promise<void>;
}
