import type { OwnTransaction } from '@opentill/chain/own-transaction';
import type { FoundPayment, SendOutcome, SignedTransaction } from '@opentill/chain/wallet-sender';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Lease } from '@opentill/db/lease';
import type { Address } from '@opentill/chain/address-codec';
import type { BaseUnits } from '@opentill/domain/money';
import type { FeePayer } from '../../policy/fees-within.ts';
import type { Obstacle, PaidByDecision, WalletView } from '../../payouts/payout-facts.ts';

/** What became of facts that others wrote. */
export interface TakenIn {
  readonly finalNonces: readonly number[];
  /** FINAL before; a reorganisation took their transactions back. */
  readonly reopenedNonces: readonly number[];
  readonly freedNonces: readonly number[];
  readonly vetoedOrderPks: readonly string[];
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

/** A signed transaction and what it was signed for. */
export interface SignedAttempt {
  readonly purpose: 'PAYOUT' | 'CANCEL';
  readonly orderPk: string | null;
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  readonly signed: SignedTransaction;
}

/** SAVED: all of them. GONE: none, because these payouts may not be signed any more. STALE: none, look again. */
export type SaveOutcome =
  | { readonly kind: 'SAVED' }
  | { readonly kind: 'GONE'; readonly orderPks: readonly string[] }
  | { readonly kind: 'STALE' };

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

/** A transaction that was signed for a payout. */
export interface KnownTransaction extends OwnTransaction {
  readonly orderPk: string;
  readonly nonce: number;
}

export interface Sent {
  readonly txHash: TxHash;
  readonly orderPk: string | null;
  readonly outcome: SendOutcome;
}

export interface BalanceRow {
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly amount: bigint;
}

/**
 * The signer's side of the database, for one wallet. Every method that takes a lease is one transaction that asserts it
 * first: LEASE_LOST when another holds it, and nothing is written.
 */
export interface PayoutStore {
  look(options: LookOptions): Promise<WalletView>;
  /** Writes what follows from what others wrote: fates, vetoes, expiries. Undefined when nothing does, and nothing is. */
  takeIn(lease: Lease, view: WalletView): Promise<TakenIn | undefined>;
  /** What counts against limits of an hour and of a day. */
  spent(): Promise<readonly SpentRow[]>;
  /**
   * REQUESTED → AUTHORISED with a nonce each (free ones first, lowest first; of a wallet that has none from `firstNonce` on),
   * where the payout's time is not over; the others as they are given. What they are decided by is read in the commit that
   * writes them, one wallet of the chain after the other: what another one authorised meanwhile counts. An approval that arrived
   * moves the payout's end on by the time it waited. @returns those authorised
   */
  authorise(
    lease: Lease,
    firstNonce: number,
    decide: (spent: readonly SpentRow[]) => Authorisations,
  ): Promise<readonly string[]>;
  /** Notes why payouts are not signed yet and frees their nonces. */
  saveObstacles(
    lease: Lease,
    obstacles: readonly { readonly orderPk: string; readonly obstacle: Obstacle }[],
  ): Promise<void>;
  /**
   * Stores signed bytes of payouts, all or none: AUTHORISED → SIGNED while their time is not over. Nonces may be anybody's.
   * `chooseRefused` is asked in that very commit, one wallet of the chain after the other, with what counts besides these
   * payouts: those that it names are GONE.
   */
  saveSigned(
    lease: Lease,
    attempts: readonly SignedAttempt[],
    chooseRefused: (spent: readonly SpentRow[]) => readonly string[],
  ): Promise<SaveOutcome>;
  /** Stores another transaction of a nonce: dearer, or a CANCEL of a free nonce. */
  saveReplacement(lease: Lease, attempt: SignedAttempt): Promise<SaveOutcome>;
  /** Stored bytes. What is sent comes from here and from nowhere else. */
  readRaw(txHashes: readonly TxHash[]): Promise<ReadonlyMap<TxHash, Uint8Array>>;
  /** What of these payouts the gateway moves of its own accord. */
  readMoves(orderPks: readonly string[]): Promise<ReadonlyMap<string, FeePayer>>;
  /** @returns payouts that were sent for the first time; of these the tracker is told. */
  recordSent(lease: Lease, sent: readonly Sent[]): Promise<readonly string[]>;
  /** Marks nonces as used by something unknown, and halts the wallet, with an incident. */
  markTaken(lease: Lease, nonces: readonly number[], reason: string): Promise<void>;
  /** Halts the wallet: up to `mark` something may have been sent that is not known here. @returns whether it was not halted so */
  haltRestored(lease: Lease, mark: number, reason: string): Promise<boolean>;
  /** Leaves every nonce up to `mark` to transactions that move nothing. `first`: where nonces begin. @returns whether any was left before */
  keepFromPayouts(lease: Lease, mark: number, first: number): Promise<boolean>;
  /** Every transaction ever signed for these payouts, with its nonce. */
  transactionsOf(orderPks: readonly string[]): Promise<readonly KnownTransaction[]>;
  /** Carries a decision out by the payment that was found, or notes why it can't be. */
  adopt(lease: Lease, decision: PaidByDecision, found: FoundPayment): Promise<Adoption>;
  /** Notes why a decision can't be carried out. */
  dismiss(lease: Lease, decisionId: string, why: string): Promise<void>;
  saveBalances(
    lease: Lease,
    block: { readonly height: number; readonly hash: string },
    rows: readonly BalanceRow[],
  ): Promise<void>;
}
