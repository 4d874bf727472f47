import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { FeeTerms, SendOutcome } from '@opentill/chain/wallet-sender';
import type { MovementKind } from '@opentill/db/sweep-tables';
import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';

/*
 * What the signer knows of one wallet, and the states in it. Every decision of this service is a function of these facts.
 *
 * Nonce (wallet_nonce; one row for each that was ever given out, from the first one on without a hole; never deleted):
 *
 *   | state            | means                                        | becomes                                              |
 *   |------------------|----------------------------------------------|------------------------------------------------------|
 *   | RESERVED, free   | given out, then given back                   | RESERVED for the next payout; SIGNED                 |
 *   | RESERVED, order  | an authorised payout will be signed with it  | SIGNED; free when the payout ended or can't be signed|
 *   | SIGNED           | bytes are stored, perhaps sent, not final    | FINAL; TAKEN                                         |
 *   | FINAL            | one of its own transactions is VERIFIED      | SIGNED when a reorganisation takes that back         |
 *   | TAKEN            | something unknown used it: a stranger's, or  | nothing any more                                     |
 *   |                  | ours, signed in commits that were lost       |                                                      |
 *
 * Payout (payout.state): REQUESTED → AUTHORISED → SIGNED; REQUESTED, AUTHORISED → REFUSED (here) or EXPIRED (the tracker).
 * SIGNED is the end of what is decided here: from then on the payout's nonce goes on, and the tracker moves the order.
 *
 * Invariants, each held by one statement of the database and not by the order of things in this process:
 *
 *  1. What is sent was committed before: only bytes read from own_transaction are sent.
 *  2. A payout has at most one nonce that is SIGNED or FINAL (store/save-signed.ts asks, a unique index insists). So however
 *     often it is signed, at most one transaction of it can land.
 *  3. A payout that is SIGNED gets another nonce only when its first is TAKEN and an operator decided that it is to be paid
 *     again (payout_decision; a trigger insists): what took the nonce may have paid it. A nonce becomes TAKEN only by a count
 *     of transactions at a verified block and the proven absence of its own transactions, and it is signed anew only by the
 *     same proof once more, each by two sources, where two are configured never by one alone.
 *  4. REQUESTED or AUTHORISED → SIGNED and → EXPIRED are compare-and-sets on the same row.
 *  5. Payouts are signed with the lowest nonces there are, whoever they were reserved for. So every nonce below a signed one
 *     is signed, and a payout that can't be signed holds up no other. A gap can come about all the same (a nonce whose
 *     payout was taken over by hand); it is filled by the next payout, or by a transaction that moves nothing.
 *  6. Every transaction that writes asserts the wallet's lease first.
 *  7. No answer to a broadcast says that a payment failed. Only receipts say what became of it, and the scanner reads them.
 *  8. A database that knows less than was sent signs nothing: what proves it is a file beside the keystore (nonce-mark.ts),
 *     written before anything is sent with a new nonce, the chain's count, and what waits in the pools of nodes. Released by
 *     an operator, the nonces up to there are used up by transactions that move nothing, and payouts wait for those to be
 *     final: bytes that were forgotten can't land beside them. So are those that the pool of one source alone claims for long.
 *  9. What stands in a row is no authorisation: the policy is asked again when a payout is signed, and a dearer transaction
 *     is signed only in the place of bytes that our own key signed for the same. Of several rows of a nonce none is taken for
 *     landed but by such bytes.
 */

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

/** One transaction ever signed with a nonce. */
export interface OwnAttempt {
  readonly txHash: TxHash;
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  readonly terms: FeeTerms;
  readonly signedAt: Date;
  readonly lastSentAt: Date | null;
  readonly outcome: SendOutcome | null;
  /** Whether a block holds it, as far as the scanner has seen. */
  readonly isMined: boolean;
  /** Whether it is deep enough to count for good. */
  readonly isVerified: boolean;
}

/** What is known of attempts, by their own bytes: undefined where our key signed just that, else what differs. */
export type Vouches = Map<TxHash, string | undefined>;

/** A nonce that is given out and not final. */
export interface OpenNonce {
  readonly nonce: number;
  readonly state: 'RESERVED' | 'SIGNED';
  readonly orderPk: string | null;
  readonly purpose: 'PAYOUT' | 'CANCEL';
  /** Oldest first; empty while RESERVED. */
  readonly attempts: readonly OwnAttempt[];
}

/** A block of the stored chain. */
export interface KnownBlock {
  readonly height: number;
  readonly hash: BlockHash;
}

/** What the database knows of a wallet's nonces at one moment. */
export interface KnownNonces extends Pick<WalletView, 'highestUsed' | 'nextNonce' | 'releasedMark'> {
  /** Whether a nonce up to `releasedMark` is still free, or its transaction that moves nothing is not final. */
  readonly isReleasedOpen: boolean;
}

/** Everything about a wallet at one moment. Read without locks: whatever is written on its strength is checked again. */
export interface WalletView {
  /** By the database's clock. */
  readonly now: Date;
  /** Where the scanner stands; null before its first commit. */
  readonly cursor: { readonly seen: KnownBlock; readonly verified: KnownBlock } | null;
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
  /** Ascending. */
  readonly nonces: readonly OpenNonce[];
  /** One more than the highest nonce ever given out; null before the first. */
  readonly nextNonce: number | null;
  /** The highest nonce that is known to be used or that bytes are stored for; null when there is none. */
  readonly highestUsed: number | null;
  /** Up to here something unknown may have been sent, and an operator released the halt that said so; null: nowhere. */
  readonly releasedMark: number | null;
  /** Not carried out yet, bounded. */
  readonly paidBy: readonly PaidByDecision[];
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

/** Whether a block holds one of the nonce's transactions, as far as the scanner has seen. */
export function isMined(nonce: OpenNonce): boolean {
  return nonce.attempts.some((attempt) => attempt.isMined);
}

/** Nonces whose transactions are on their way: signed, in no block. Ascending. */
export function inFlight(nonces: readonly OpenNonce[]): readonly OpenNonce[] {
  return nonces.filter((nonce) => nonce.state === 'SIGNED' && !isMined(nonce));
}
