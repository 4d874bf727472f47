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
  ViewOptions,
  PaidByDecision,
  PayoutsView,
  SaveOutcome,
  SentTransaction,
  SpentRow,
  WalletStore,
} from '../../payouts/payout-facts.ts';
import type { OtherFee, OpenAttempt, ScanCursor } from './attempt-facts.ts';

export interface AttemptUpdates {
  readonly settled: readonly TxHash[];
  /** Settled before; a reorganisation removed their block. */
  readonly reopened: readonly TxHash[];
  readonly vetoedOrderPks: readonly string[];
}

export interface SignedPayment {
  readonly orderPk: string;
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  readonly costBaseUnits: bigint;
  readonly signed: SignedExpiring;
}

/** Read in the commit itself. No other wallet of the chain changes these values meanwhile. */
export interface CommitFacts {
  readonly spent: readonly SpentRow[];
  readonly otherFees: readonly OtherFee[];
  readonly haltedWallets: ReadonlySet<Address>;
}

export interface NewGathering extends Gathering {
  readonly heldAs?: string;
}

export interface OpenGathering {
  readonly txHash: TxHash;
  readonly contract: TokenContract | null;
  readonly signedAt: Date;
  readonly isMined: boolean;
}

export interface MarkedDead {
  readonly dead: readonly TxHash[];
  readonly waiting: readonly string[];
}

/** Each method with a lease asserts it first, in one transaction, and throws LEASE_LOST if another process holds it. */
export interface AttemptStore extends WalletStore<
  SentTransaction & { readonly orderPk: string; readonly outcome: ExpiringSendOutcome }
> {
  readView(options: ViewOptions): Promise<ExpiringView>;
  /** Applies outcomes and vetoes. undefined: there were none. */
  applyExternalUpdates(lease: Lease, view: ExpiringView): Promise<AttemptUpdates | undefined>;
  authorise(lease: Lease, decide: (spent: readonly SpentRow[]) => Authorisations): Promise<readonly string[]>;
  /** All or none: AUTHORISED → SIGNED before the payout expires. `besides` is read in the same commit. */
  saveSigned(
    lease: Lease,
    payments: readonly SignedPayment[],
    chooseRefused: (besides: CommitFacts) => readonly string[],
  ): Promise<SaveOutcome>;
  /**
   * OPEN → DEAD. Returns payouts to AUTHORISED, except those that an unknown transaction may have paid, and those that
   * now need an operator's decision.
   */
  markDead(
    lease: Lease,
    txHashes: readonly TxHash[],
    end: Pick<BlockHeader, 'height' | 'hash'>,
    maxAttemptsWithoutDecision: number,
  ): Promise<MarkedDead>;
  /** Up to the unique time `mark`, the database does not know what was sent. Returns whether the halt is new. */
  haltRestored(lease: Lease, mark: number, reason: string): Promise<boolean>;
  /** @returns transactions for which the wallet was not halted before */
  haltForeign(lease: Lease, reason: string): Promise<readonly string[]>;
  adopt(lease: Lease, decision: PaidByDecision, found: FoundExpiringPayment): Promise<Adoption>;
  /**
   * Stores a transaction within the wallet, so that the scanner recognises it as its own.
   * @returns false if not affordable, halted or held meanwhile; then it must not be sent
   */
  saveGathering(
    lease: Lease,
    gathering: NewGathering,
    lastEpoch: number | undefined,
    isAffordable: (otherFees: readonly OtherFee[]) => boolean,
  ): Promise<boolean>;
  openGatherings(): Promise<readonly OpenGathering[]>;
}

/** Read without locks. Each write that relies on it checks it again. */
export interface ExpiringView extends PayoutsView {
  /** Null before the scanner's first commit. */
  readonly cursor: ScanCursor | null;
  readonly attempts: readonly OpenAttempt[];
  /** Fees that other transactions may take of the coin that pays for these attempts. Empty without sponsoring (SUI). */
  readonly otherFees: readonly OtherFee[];
  /** Only where one wallet may pay another's fees (SUI). New transactions must not use their coin. */
  readonly haltedWallets: ReadonlySet<Address>;
  readonly lastUniqueMs: number | null;
  /** Unique time up to which unknown transactions may have been sent, from a halt that an operator released. */
  readonly releasedMark: number | null;
  /** Foreign transactions in verified blocks that have no halt yet. Bounded. */
  readonly foreign: readonly TxHash[];
}
