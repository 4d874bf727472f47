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
  ViewOptions,
  PaidByDecision,
  PayoutsView,
  SaveOutcome,
  SentTransaction,
  SpentRow,
  WalletStore,
} from '../../payouts/payout-facts.ts';
import type { OpenNonce } from './nonce-facts.ts';

export interface NonceUpdates {
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

/** Each method with a lease asserts it first, in one transaction, and throws LEASE_LOST if another process holds it. */
export interface PayoutStore extends WalletStore<SentTransaction & { readonly outcome: SendOutcome }> {
  readView(options: ViewOptions): Promise<WalletView>;
  /** Applies outcomes, vetoes and expiries. undefined: there were none. */
  applyExternalUpdates(lease: Lease, view: WalletView): Promise<NonceUpdates | undefined>;
  /**
   * REQUESTED → AUTHORISED with a nonce each, from `firstNonce` on for a wallet without nonces; also writes the other
   * decisions. An approval extends the payout's expiry by the time it waited. Returns the authorised order keys.
   */
  authorise(
    lease: Lease,
    firstNonce: number,
    decide: (spent: readonly SpentRow[]) => Authorisations,
  ): Promise<readonly string[]>;
  /**
   * All or none: AUTHORISED → SIGNED before they expire. Payouts that `chooseRefused` returns in that commit are GONE.
   */
  saveSigned(
    lease: Lease,
    attempts: readonly SignedAttempt[],
    chooseRefused: (spent: readonly SpentRow[]) => readonly string[],
  ): Promise<SaveOutcome>;
  /** With a higher fee, or a CANCEL of a free nonce. */
  saveReplacement(lease: Lease, attempt: SignedAttempt): Promise<SaveOutcome>;
  readMoves(orderPks: readonly string[]): Promise<ReadonlyMap<string, FeePayer>>;
  /** Also halts the wallet, with an incident. */
  markTaken(lease: Lease, nonces: readonly number[], reason: string): Promise<void>;
  /** Up to nonce `mark`, the database may not know what was sent. Returns whether the halt is new. */
  haltRestored(lease: Lease, mark: number, reason: string): Promise<boolean>;
  /**
   * Nonces up to `mark` are for transactions that move no money. Returns whether any changed. `first`: where nonces
   * begin.
   */
  keepFromPayouts(lease: Lease, mark: number, first: number): Promise<boolean>;
  transactionsOf(orderPks: readonly string[]): Promise<readonly KnownTransaction[]>;
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
  readonly nonces: readonly OpenNonce[];
  readonly nextNonce: number | null;
  readonly highestUsed: number | null;
  /** Unknown transactions may have been sent up to this nonce, from a halt that an operator released. */
  readonly releasedMark: number | null;
}
