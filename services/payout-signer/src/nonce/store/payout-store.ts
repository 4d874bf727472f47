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

export interface TakenIn {
  readonly finalNonces: readonly number[];
  /** FINAL before; a reorganisation removed their transactions. */
  readonly reopenedNonces: readonly number[];
  readonly freedNonces: readonly number[];
  readonly vetoedOrderPks: readonly string[];
}

export interface SignedAttempt {
  readonly purpose: 'PAYOUT' | 'CANCEL';
  readonly orderPk: string | null;
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  readonly signed: SignedTransaction;
}

export interface KnownTransaction extends OwnTransaction {
  readonly orderPk: string;
  readonly nonce: number;
}

/**
 * Each method with a lease is one transaction that asserts the lease first. If another process holds it, the method
 * throws LEASE_LOST and writes no row.
 */
export interface PayoutStore extends WalletStore<SentTransaction & { readonly outcome: SendOutcome }> {
  look(options: LookOptions): Promise<WalletView>;
  /** Applies outcomes, vetoes and expiries. undefined when there are none. */
  takeIn(lease: Lease, view: WalletView): Promise<TakenIn | undefined>;
  /**
   * REQUESTED → AUTHORISED with a nonce each, for payouts that have not expired; also writes the other decisions. A
   * wallet without nonces begins at `firstNonce`. The spent amounts are read in this commit, one wallet of the chain at
   * a time. An approval extends the payout's expiry by the time it waited.
   * @returns the authorised order keys
   */
  authorise(
    lease: Lease,
    firstNonce: number,
    decide: (spent: readonly SpentRow[]) => Authorisations,
  ): Promise<readonly string[]>;
  /**
   * All or none: AUTHORISED → SIGNED before they expire. Any payout may have reserved their nonces. `chooseRefused` is
   * called in that commit, one wallet of the chain at a time. The payouts that it returns are GONE.
   */
  saveSigned(
    lease: Lease,
    attempts: readonly SignedAttempt[],
    chooseRefused: (spent: readonly SpentRow[]) => readonly string[],
  ): Promise<SaveOutcome>;
  /** Another transaction of a nonce: with a higher fee, or a CANCEL of a free nonce. */
  saveReplacement(lease: Lease, attempt: SignedAttempt): Promise<SaveOutcome>;
  readMoves(orderPks: readonly string[]): Promise<ReadonlyMap<string, FeePayer>>;
  /** Also halts the wallet, with an incident. */
  markTaken(lease: Lease, nonces: readonly number[], reason: string): Promise<void>;
  /**
   * Up to nonce `mark`, transactions may have been sent that the database does not know.
   * @returns whether the halt is new
   */
  haltRestored(lease: Lease, mark: number, reason: string): Promise<boolean>;
  /**
   * Keeps every nonce up to `mark` for transactions that move no money.
   * @param first where nonces begin
   * @returns whether any changed
   */
  keepFromPayouts(lease: Lease, mark: number, first: number): Promise<boolean>;
  transactionsOf(orderPks: readonly string[]): Promise<readonly KnownTransaction[]>;
  /** Carries out a decision with the payment that was found, or records why it cannot. */
  adopt(lease: Lease, decision: PaidByDecision, found: FoundPayment): Promise<Adoption>;
}

export interface KnownNonces extends Pick<WalletView, 'highestUsed' | 'nextNonce' | 'releasedMark'> {
  /** A nonce up to `releasedMark` is free, or its transaction that moves no money is not final. */
  readonly isReleasedOpen: boolean;
}

/** Read without locks. Each write that relies on it checks it again. */
export interface WalletView extends PayoutsView {
  /** Null before the scanner's first commit. */
  readonly cursor: { readonly seen: KnownBlock; readonly verified: KnownBlock } | null;
  /** Ascending. */
  readonly nonces: readonly OpenNonce[];
  /** Null before the first nonce. */
  readonly nextNonce: number | null;
  /** Used, or with stored bytes. */
  readonly highestUsed: number | null;
  /** Unknown transactions may have been sent up to this nonce, from a halt that an operator released. */
  readonly releasedMark: number | null;
}
