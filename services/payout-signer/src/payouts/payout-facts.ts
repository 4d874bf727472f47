import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Lease } from '@opentill/db/lease';
import type { MovementKind } from '@opentill/db/sweep-tables';
import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';

/** A wallet on a chain: what one driver drives, and one lease protects. */
export interface WalletKey {
  readonly chain: Chain;
  readonly wallet: Address;
}

/** What the gateway moves of its own accord (table movement). Unchecked: the database's word. */
export interface Movement {
  readonly kind: MovementKind;
  /** Of the deposit address that it empties or helps: where that is said to be derived. Null where it is none. */
  readonly depositIndex: number | null;
  /** What its sweep was planned to cost, or it itself where it goes to cold storage: native coin in base units. Null where nobody said. */
  readonly plannedCostBaseUnits: bigint | null;
  /** What its sweep has paid of that already, by its other movements, but for those that failed. */
  readonly paidBesidesBaseUnits: bigint;
}

/** What a payout is to do, as its order says. Unchecked: the database's word. */
export interface PayoutFacts {
  readonly orderPk: string;
  readonly orderId: string;
  readonly merchantId: string;
  readonly symbol: string;
  readonly contract: string | null;
  readonly decimals: number;
  readonly receiver: string;
  readonly amountBaseUnits: BaseUnits;
  /** What a policy counts from and approvals name. */
  readonly wallet: Address;
  /** Null: a merchant asked for it. */
  readonly movement: Movement | null;
  /** What it counts against: its symbol; of a movement that is no refund something of its own. */
  readonly countsAs: string;
  readonly obstacle: string | null;
}

/** What the policy and the checks before it are asked with, when a payout is authorised and again when it is signed. */
export interface JudgedPayout extends PayoutFacts {
  /** Of the policy's approvers alone. */
  readonly approvals: readonly {
    readonly approver: string;
    readonly signature: Uint8Array;
    readonly approvedAt: Date;
  }[];
  /** Whether its reservation stands in the ledger with its amount. */
  readonly isReserved: boolean;
  /** Whether it looks like a payment that this database forgot when it was restored. */
  readonly mayBePaid: boolean;
  /** Whether the receiver is one of the gateway's own addresses. */
  readonly paysOurselves: boolean;
  /** Whether its time is over. It is looked at only while it is known why it does not expire. */
  readonly isOverdue: boolean;
}

/** REQUESTED: not authorised yet. */
export interface RequestedPayout extends JudgedPayout {
  /** Since when it has been waiting for operators; null while it does not. */
  readonly waitingSince: Date | null;
  readonly obstacleAt: Date | null;
}

/** To be signed: AUTHORISED; or SIGNED with a nonce that something else used, and to be paid again by an operator's word. */
export interface UnsignedPayout extends JudgedPayout {
  /** It is SIGNED. Then windows count its attempts and not the one that is to be signed; of AUTHORISED ones they count both. */
  readonly isSignedBefore: boolean;
  /** Transactions without a nonce that were signed for it, all of them proven dead; 0 on chains with nonces. */
  readonly attempts: number;
  /** Whether an operator decided since the last attempt that it gets another one (PAY_AGAIN). */
  readonly isDecidedAgain: boolean;
}

/** An operator's word that a transaction which this database does not know has paid a payout. */
export interface PaidByDecision {
  readonly decisionId: string;
  readonly payout: PayoutFacts;
  readonly txHash: TxHash;
}

/** A block of the stored chain. */
export interface KnownBlock {
  readonly height: number;
  readonly hash: BlockHash;
}

/** Why a payout is not signed yet, for operators (payout.obstacle). None is final: it is tried again until it expires. */
export type Obstacle =
  /** The wallet holds too little of the token, less what is on its way out. */
  | 'NO_TOKENS'
  /** The wallet can't pay the fees. */
  | 'NO_GAS'
  /** The chain would refuse it. */
  | 'WOULD_FAIL'
  | 'FEES_ABOVE_CAP'
  /** Nodes answer for other payments and not for this one. */
  | 'UNCLEAR'
  /** No sealed policy is loaded, or it says nothing of this chain; nothing is signed on a main network without. */
  | 'NO_POLICY'
  /** The network file does not say how payouts of this chain are paid: nobody signs them. */
  | 'PAYOUTS_NOT_CONFIGURED'
  /** A halt is open. */
  | 'HALTED'
  /** The asset is on hold after an incident. */
  | 'ASSET_HELD'
  /** The scanner halted the chain, or nodes of it failed the start-up checks. */
  | 'CHAIN_HALTED'
  /** The scanner has not committed anything of the chain. */
  | 'CHAIN_BEHIND'
  /** Transactions of the wallet were sent that this database does not know: it may be older than they are. */
  | 'CHAIN_AHEAD'
  /** The clocks of the database, this process and the chain differ too much for limits per time to hold (compare-clocks.ts). */
  | 'CLOCKS_DIFFER'
  /** It was authorised, and the policy would not let it pass now. */
  | 'POLICY_REFUSES'
  /**
   * It was signed, something else used its nonce, and an operator has to say whether that paid it. Or its attempts expired so often
   * that the policy wants an operator's decision before the next one.
   */
  | 'NEEDS_DECISION'
  /** The order names a token otherwise than the network file does. */
  | 'CONFIG_MISMATCH'
  /** The ledger has no reservation of its amount. */
  | 'NOT_RESERVED'
  /** It may have been paid after the backup that this database was restored from; operators decide, and its clock stands. */
  | 'MAYBE_PAID'
  /** Waits for operators; its clock stands. */
  | 'NEEDS_APPROVAL';

/** What the operator should look at, each with the amount that is there. */
export interface BalanceAlarms {
  readonly lowGas: bigint | undefined;
  readonly low: ReadonlyMap<string, bigint>;
  readonly aboveFloat: ReadonlyMap<string, bigint>;
}

/** How much may still be signed, or was signed lately, of a symbol for a merchant, by the database's clock; each attempt counts. */
export interface SpentRow {
  /** See PayoutFacts. */
  readonly countsAs: string;
  readonly merchantId: string;
  readonly lastHour: bigint;
  readonly lastDay: bigint;
  /** What waits for approval, not in the other two. */
  readonly waiting: bigint;
}

/** What is to be written of payouts that are REQUESTED. */
export interface Authorisations {
  /** In the order in which they get nonces. */
  readonly authorised: readonly string[];
  /** Their clocks stand from now on. */
  readonly needApproval: readonly string[];
  /** Those that were waiting for approval and still are, after something was handed in. */
  readonly judgedAgain: readonly string[];
  /** Those that waited for approval and need none any more, and still wait: they are looked at as what something else hinders. */
  readonly heldBack: readonly string[];
  readonly refused: readonly { readonly orderPk: string; readonly reason: string }[];
  readonly obstacles: readonly { readonly orderPk: string; readonly obstacle: Obstacle }[];
}

/** SAVED: all of them. GONE: none, because these payouts may not be signed any more. STALE: none, look again. */
export type SaveOutcome =
  | { readonly kind: 'SAVED' }
  | { readonly kind: 'GONE'; readonly orderPks: readonly string[] }
  | { readonly kind: 'STALE' };

/** The payouts of a wallet at one moment, and what stops them. */
export interface PayoutsView {
  /** By the database's clock. */
  readonly now: Date;
  /** Why nothing new may be authorised or signed; null: it may. */
  readonly halted: string | null;
  /** Halted because something unknown may have paid payouts: until that is settled none is refused, and none expires. */
  readonly isUncertain: boolean;
  /** Symbols on hold. */
  readonly heldSymbols: ReadonlySet<string>;
  /** Oldest first, bounded. */
  readonly requested: readonly RequestedPayout[];
  /** The last of a full page of those that something stands in the way of; null when that page was not full. */
  readonly pageEnd: string | null;
  /** Oldest first, bounded. */
  readonly unsigned: readonly UnsignedPayout[];
  /** Not carried out yet, bounded. */
  readonly paidBy: readonly PaidByDecision[];
}

export interface LookOptions {
  /** Most payouts that are looked at. */
  readonly requested: number;
  readonly unsigned: number;
  /** Of the requested ones that something stands in the way of only those behind this one. */
  readonly after?: string | undefined;
  /** Also those that wait for approval and that nothing was said to. */
  readonly everyWaiting: boolean;
  /** Whose approvals are read, and nobody else's. */
  readonly approvers: readonly string[];
  /** Those that have been waiting for approval for so long are looked at as well. */
  readonly approvalWaitMs: number;
}

/** What became of a decision. DONE: carried out. LATER: not yet, it stays open. Otherwise it can't be, and `why`. */
export type Adoption =
  { readonly kind: 'DONE' | 'LATER' } | { readonly kind: 'NOT_POSSIBLE'; readonly why: string };

export interface BalanceRow {
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly amount: bigint;
}

/** What is to become of the payouts that wait to be authorised. A payout is in one of the lists, or nothing of it changes. */
export interface AuthorisationDecisions {
  /** Oldest first. */
  readonly authorised: readonly string[];
  readonly needApproval: readonly string[];
  /** Those that were waiting for approval and still are, after something was handed in. */
  readonly judgedAgain: readonly string[];
  /** Those that waited for approval and need none any more, but something else keeps them: they keep their place in the day. */
  readonly heldBack: readonly string[];
  readonly refused: readonly { readonly orderPk: string; readonly reason: string }[];
  readonly obstacles: readonly { readonly orderPk: string; readonly obstacle: Obstacle }[];
  /** How many wait for nothing but their turn. Nothing is noted of them. */
  readonly waitForTurn: number;
}

/** A payout that is not signed now, and why. */
export interface Hindered {
  readonly payout: UnsignedPayout;
  readonly obstacle: Obstacle;
}

/** What a fee is held against. */
export interface FeePayer extends Pick<PayoutFacts, 'contract' | 'decimals' | 'amountBaseUnits'> {
  readonly movement: Pick<Movement, 'kind' | 'plannedCostBaseUnits' | 'paidBesidesBaseUnits'> | null;
}

/** CHAIN_AHEAD: forgotten transactions may have paid, so that the payouts must not expire. */
export type ChainObstacle = Extract<Obstacle, 'CHAIN_HALTED' | 'CHAIN_AHEAD'>;

/** A transaction that was sent, of which payout it is, and what nodes said. */
export interface SentTransaction {
  readonly txHash: TxHash;
  /** Null: it pays nobody. */
  readonly orderPk: string | null;
  readonly outcome: string;
}

/**
 * The part that the stores of all wallets share. Each method that takes a lease is one transaction that asserts it first: LEASE_LOST when
 * another process holds it, and nothing is written.
 */
export interface WalletStore<Sent extends SentTransaction = SentTransaction> {
  /** What counts against limits of an hour and of a day. */
  spent(): Promise<readonly SpentRow[]>;
  /** Notes why payouts are not signed yet, and frees nonces that they hold. */
  saveObstacles(lease: Lease, obstacles: Authorisations['obstacles']): Promise<void>;
  /** Stored bytes. What is sent comes from here and from nowhere else. */
  readRaw(txHashes: readonly TxHash[]): Promise<ReadonlyMap<TxHash, Uint8Array>>;
  /** @returns payouts that were sent for the first time; of these the tracker is told. */
  recordSent(lease: Lease, sent: readonly Sent[]): Promise<readonly string[]>;
  /** Notes why a decision can't be carried out. */
  dismiss(lease: Lease, decisionId: string, why: string): Promise<void>;
  saveBalances(
    lease: Lease,
    block: { readonly height: number; readonly hash: string },
    rows: readonly BalanceRow[],
  ): Promise<void>;
}
