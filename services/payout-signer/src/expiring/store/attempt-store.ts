import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type {
  ExpiringSendOutcome,
  FoundExpiringPayment,
  Gathering,
  SignedExpiring,
} from '@opentill/chain/expiring-sender';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Lease } from '@opentill/db/lease';
import type { BaseUnits } from '@opentill/domain/money';
import type {
  Adoption,
  Authorisations,
  LookOptions,
  PaidByDecision,
  PayoutsView,
  SaveOutcome,
  SentTransaction,
  SpentRow,
  WalletStore,
} from '../../payouts/payout-facts.ts';
import type { FeeElsewhere, OpenAttempt, ScanCursor } from './attempt-facts.ts';

/** What became of facts that others wrote. */
export interface TakenInAttempts {
  /** Verified in a block. */
  readonly settled: readonly TxHash[];
  /** Settled before; a reorganisation took their block back. */
  readonly reopened: readonly TxHash[];
  readonly vetoedOrderPks: readonly string[];
}

/** A signed transaction and what it was signed for. */
export interface SignedPayment {
  readonly orderPk: string;
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  /** What it costs at most, fees of every kind. */
  readonly costBaseUnits: bigint;
  readonly signed: SignedExpiring;
}

/** What counts at the moment of a commit, besides what it stores. No other wallet of the chain commits any of it meanwhile. */
export interface Besides {
  readonly spent: readonly SpentRow[];
  readonly feesElsewhere: readonly FeeElsewhere[];
  /** See ExpiringView. */
  readonly haltedWallets: ReadonlySet<Address>;
}

export interface NewGathering extends Gathering {
  /** The symbol by whose hold it is stopped. Absent: none. */
  readonly heldAs?: string;
}

export interface OpenGathering {
  readonly txHash: TxHash;
  readonly contract: TokenContract | null;
  readonly signedAt: Date;
  /** Whether a block holds it, as far as the scanner has seen. */
  readonly isMined: boolean;
}

/** What a burial made of attempts and payouts. */
export interface Burial {
  readonly dead: readonly TxHash[];
  /** Order keys of payouts that wait for a decision now. */
  readonly waiting: readonly string[];
}

/**
 * The signer's side of the database, for one wallet of a chain whose transactions end by time. Every method that takes a lease
 * is one transaction that asserts it first: LEASE_LOST when another holds it, and nothing is written.
 */
export interface AttemptStore extends WalletStore<
  SentTransaction & { readonly orderPk: string; readonly outcome: ExpiringSendOutcome }
> {
  look(options: LookOptions): Promise<ExpiringView>;
  /** Writes what follows from what others wrote: fates, vetoes. Undefined when nothing does, and nothing is. */
  takeIn(lease: Lease, view: ExpiringView): Promise<TakenInAttempts | undefined>;
  /** See PayoutStore.authorise; there are no nonces to give out. */
  authorise(lease: Lease, decide: (spent: readonly SpentRow[]) => Authorisations): Promise<readonly string[]>;
  /**
   * Stores signed bytes with their bounds, all or none: AUTHORISED → SIGNED while their time is not over. See PayoutStore; who else may
   * take of the coin that pays for them, and whose coin is not to be touched, is read in that commit as well.
   */
  saveSigned(
    lease: Lease,
    payments: readonly SignedPayment[],
    chooseRefused: (besides: Besides) => readonly string[],
  ): Promise<SaveOutcome>;
  /**
   * OPEN → DEAD of those that no block was found to hold up to `end`, and that the database agrees are over; their payouts go
   * back to AUTHORISED. Not of a payout that something unknown may have paid. One that had `maxAttemptsWithoutDecision` attempts and
   * pays others than the gateway waits for an operator's decision, from that commit on.
   */
  bury(
    lease: Lease,
    txHashes: readonly TxHash[],
    end: Pick<BlockHeader, 'height' | 'hash'>,
    maxAttemptsWithoutDecision: number,
  ): Promise<Burial>;
  /** Halts the wallet: up to the unique time `mark` something was sent that is not known here. @returns whether it was not halted so */
  haltRestored(lease: Lease, mark: number, reason: string): Promise<boolean>;
  /** Halts the wallet for what it did that nobody here signed. @returns what it was not halted for before */
  haltForeign(lease: Lease, reason: string): Promise<readonly string[]>;
  /** Carries a decision out by the payment that was found, or notes why it can't be. */
  adopt(lease: Lease, decision: PaidByDecision, found: FoundExpiringPayment): Promise<Adoption>;
  /**
   * Stores a transaction by which the wallet moves its own money, so that it is known for ours when a block holds it.
   * @param lastEpoch the last that may hold it
   * @param isAffordable asked in that commit, one wallet of the chain after the other, with what others may take of its coin
   * @returns false where it is not, or the wallet was halted meanwhile, or the asset held: nothing is stored, and nothing may be sent
   */
  saveGathering(
    lease: Lease,
    gathering: NewGathering,
    lastEpoch: number | undefined,
    isAffordable: (feesElsewhere: readonly FeeElsewhere[]) => boolean,
  ): Promise<boolean>;
  /** Those that may land yet, or are in a block that is not verified. */
  openGatherings(): Promise<readonly OpenGathering[]>;
}

/** Everything about a wallet at one moment. Read without locks: whatever is written on its strength is checked again. */
export interface ExpiringView extends PayoutsView {
  /** Null before the scanner's first commit. */
  readonly cursor: ScanCursor | null;
  /** All that are OPEN, in the order of their unique times. */
  readonly attempts: readonly OpenAttempt[];
  /**
   * What transactions besides these attempts may take of the coin that pays their fees: where the hot wallet pays for deposit
   * addresses (SUI) all that is on its way of these, of it and of what gathers its coins. None elsewhere.
   */
  readonly feesElsewhere: readonly FeeElsewhere[];
  /** Wallets of the chain that are halted, where one may pay the fees of another (SUI): nothing new is signed at its expense. */
  readonly haltedWallets: ReadonlySet<Address>;
  /** The highest unique time of any attempt; null before the first. */
  readonly lastUniqueMs: number | null;
  /** Up to this unique time something unknown may have been sent, and an operator released the halt that said so. */
  readonly releasedMark: number | null;
  /** What the wallet did in verified blocks that nobody here signed, and that no halt was set for yet. Bounded. */
  readonly foreign: readonly TxHash[];
}
