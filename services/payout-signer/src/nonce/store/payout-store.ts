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
 * Database access of the signer for one wallet with nonces. Each method with a lease is one transaction that asserts
 * the lease first. If another process holds it, the method throws LEASE_LOST and writes no row.
 */
export interface PayoutStore extends WalletStore<SentTransaction & { readonly outcome: SendOutcome }> {
  look(options: LookOptions): Promise<WalletView>;
  /** Applies external updates: outcomes, vetoes, expiries. undefined when there are none. */
  takeIn(lease: Lease, view: WalletView): Promise<TakenIn | undefined>;
  /**
   * REQUESTED → AUTHORISED with a nonce each, for payouts that have not expired; also writes the other decisions.
   * Free nonces come first, lowest first; a wallet without nonces begins at `firstNonce`. The spent amounts are read
   * in this commit, one wallet of the chain at a time, so what another one authorised meanwhile counts. An approval
   * extends the payout's expiry by the time it waited. @returns the authorised order keys
   */
  authorise(
    lease: Lease,
    firstNonce: number,
    decide: (spent: readonly SpentRow[]) => Authorisations,
  ): Promise<readonly string[]>;
  /**
   * Stores signed bytes of payouts, all or none: AUTHORISED → SIGNED before they expire. Any payout may have reserved
   * their nonces. `chooseRefused` is called in that commit, one wallet of the chain at a time, with the other amounts
   * that count. The payouts that it returns are GONE.
   */
  saveSigned(
    lease: Lease,
    attempts: readonly SignedAttempt[],
    chooseRefused: (spent: readonly SpentRow[]) => readonly string[],
  ): Promise<SaveOutcome>;
  /** Stores another transaction of a nonce: with a higher fee, or a CANCEL of a free nonce. */
  saveReplacement(lease: Lease, attempt: SignedAttempt): Promise<SaveOutcome>;
  /** The movements among these payouts. */
  readMoves(orderPks: readonly string[]): Promise<ReadonlyMap<string, FeePayer>>;
  /** Marks nonces as used by unknown transactions and halts the wallet, with an incident. */
  markTaken(lease: Lease, nonces: readonly number[], reason: string): Promise<void>;
  /**
   * Halts the wallet: up to nonce `mark`, transactions may have been sent that the database does not know. @returns
   * whether the halt is new
   */
  haltRestored(lease: Lease, mark: number, reason: string): Promise<boolean>;
  /**
   * Keeps every nonce up to `mark` for transactions that move no money. `first`: where nonces begin. @returns whether
   * any changed
   */
  keepFromPayouts(lease: Lease, mark: number, first: number): Promise<boolean>;
  transactionsOf(orderPks: readonly string[]): Promise<readonly KnownTransaction[]>;
  /** Carries out a decision with the payment that was found, or records why it cannot. */
  adopt(lease: Lease, decision: PaidByDecision, found: FoundPayment): Promise<Adoption>;
}

/** Nonces of a wallet at one moment, as the database knows them. */
export interface KnownNonces extends Pick<WalletView, 'highestUsed' | 'nextNonce' | 'releasedMark'> {
  /** True while a nonce up to `releasedMark` is free, or its transaction that moves no money is not final. */
  readonly isReleasedOpen: boolean;
}

/** State of a wallet at one moment, read without locks. Each write that relies on it checks it again. */
export interface WalletView extends PayoutsView {
  /** Position of the scanner; null before its first commit. */
  readonly cursor: { readonly seen: KnownBlock; readonly verified: KnownBlock } | null;
  /** Ascending. */
  readonly nonces: readonly OpenNonce[];
  /** One more than the highest nonce ever assigned; null before the first. */
  readonly nextNonce: number | null;
  /** Highest nonce that is used or has stored bytes; null: none. */
  readonly highestUsed: number | null;
  /** Nonce up to which unknown transactions may have been sent, from a halt that an operator released; null: none. */
  readonly releasedMark: number | null;
}
