import type { Address } from '@opentill/chain/address-codec';
import type { OwnTransaction } from '@opentill/chain/own-transaction';
import type { TokenContract } from '@opentill/chain/transfer';
import type { FoundPayment, SendOutcome, SignedTransaction } from '@opentill/chain/wallet-sender';
import type { Lease } from '@opentill/db/lease';
import type { BaseUnits } from '@opentill/domain/money';
import type {
  Adoption,
  Authorisations,
  FeePayer,
  KnownBlock,
  LookOptions,
  PaidByDecision,
  PayoutsView,
  SaveOutcome,
  SentTransaction,
  SpentRow,
  WalletStore,
} from '../../payouts/payout-facts.ts';
import type { OpenNonce } from './nonce-facts.ts';

/** What became of facts that others wrote. */
export interface TakenIn {
  readonly finalNonces: readonly number[];
  /** FINAL before; a reorganisation took their transactions back. */
  readonly reopenedNonces: readonly number[];
  readonly freedNonces: readonly number[];
  readonly vetoedOrderPks: readonly string[];
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

/** A transaction that was signed for a payout. */
export interface KnownTransaction extends OwnTransaction {
  readonly orderPk: string;
  readonly nonce: number;
}

/**
 * The signer's side of the database, for one wallet. Every method that takes a lease is one transaction that asserts it
 * first: LEASE_LOST when another holds it, and nothing is written.
 */
export interface PayoutStore extends WalletStore<SentTransaction & { readonly outcome: SendOutcome }> {
  look(options: LookOptions): Promise<WalletView>;
  /** Writes what follows from what others wrote: fates, vetoes, expiries. Undefined when nothing does, and nothing is. */
  takeIn(lease: Lease, view: WalletView): Promise<TakenIn | undefined>;
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
  /** What of these payouts the gateway moves of its own accord. */
  readMoves(orderPks: readonly string[]): Promise<ReadonlyMap<string, FeePayer>>;
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
}

/** What the database knows of a wallet's nonces at one moment. */
export interface KnownNonces extends Pick<WalletView, 'highestUsed' | 'nextNonce' | 'releasedMark'> {
  /** Whether a nonce up to `releasedMark` is still free, or its transaction that moves nothing is not final. */
  readonly isReleasedOpen: boolean;
}

/** Everything about a wallet at one moment. Read without locks: whatever is written on its strength is checked again. */
export interface WalletView extends PayoutsView {
  /** Where the scanner stands; null before its first commit. */
  readonly cursor: { readonly seen: KnownBlock; readonly verified: KnownBlock } | null;
  /** Ascending. */
  readonly nonces: readonly OpenNonce[];
  /** One more than the highest nonce ever given out; null before the first. */
  readonly nextNonce: number | null;
  /** The highest nonce that is known to be used or that bytes are stored for; null when there is none. */
  readonly highestUsed: number | null;
  /** Up to here something unknown may have been sent, and an operator released the halt that said so; null: nowhere. */
  readonly releasedMark: number | null;
}
