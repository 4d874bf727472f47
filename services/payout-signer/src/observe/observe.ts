import type { Gathering } from '@opentill/chain/expiring-sender';
import type { TxHash } from '@opentill/chain/transfer';
import type { Rolled } from '@opentill/db/housekeeping';
import type { ChainStatus } from '@opentill/domain/chain-status';
import type { Chain } from '@opentill/domain/chains';
import type { SweepPlan } from '@opentill/domain/plan-sweeps';
import type {
  AuthorisationDecisions,
  BalanceAlarms,
  BalanceRow,
  Obstacle,
  WalletKey,
} from '../payouts/payout-facts.ts';

/** The measured part of what a pass reads about its wallet. */
export interface WalletLook {
  readonly now: Date;
  readonly halted: string | null;
  readonly requested: readonly unknown[];
  readonly unsigned: readonly unknown[];
}

/** Signed transactions that no block holds. */
export interface InFlight {
  readonly count: number;
  readonly oldestSignedAt: Date | undefined;
}

export interface PaidTransaction {
  /** Null: it pays nobody. */
  readonly orderPk: string | null;
}

export type SignedWithNonce = PaidTransaction & {
  readonly signed: { readonly nonce: number; readonly txHash: TxHash };
};

export type SentPayment = PaidTransaction & { readonly txHash: TxHash };

/** What happens in the signer, by name: logged and counted in one place. No key, no signed bytes. */
export interface Observe {
  /** The pass wrote what follows from changes of other services, where nonces order transactions. */
  takenIn(
    key: WalletKey,
    taken: {
      readonly finalNonces: readonly number[];
      readonly reopenedNonces: readonly number[];
      readonly freedNonces: readonly number[];
      readonly vetoedOrderPks: readonly string[];
    },
  ): void;
  /** The same where transactions end by time. */
  attemptsTakenIn(
    key: WalletKey,
    taken: {
      readonly settled: readonly TxHash[];
      readonly reopened: readonly TxHash[];
      readonly vetoedOrderPks: readonly string[];
    },
  ): void;
  looked(key: WalletKey, look: WalletLook, inFlight: InFlight): void;
  /** Transactions that no block holds. Alarms about others of the wallet are over. */
  stillInFlight(key: WalletKey, txHashes: readonly TxHash[]): void;
  authorised(key: WalletKey, decisions: AuthorisationDecisions): void;
  hindered(key: WalletKey, orderPk: string, obstacle: Obstacle): void;
  /** What a node said when a payment was tried. */
  wouldFail(key: WalletKey, orderPk: string, detail: string): void;
  signed(key: WalletKey, attempts: readonly SignedWithNonce[]): void;
  attemptsSigned(
    key: WalletKey,
    payments: readonly (PaidTransaction & {
      readonly signed: { readonly txHash: TxHash; readonly validity: { readonly expiresMs: number } };
    })[],
  ): void;
  /** `first`: payouts that were sent for the first time. */
  sent(
    key: WalletKey,
    sent: readonly { readonly txHash: TxHash; readonly outcome: string }[],
    first: number,
  ): void;
  bumped(key: WalletKey, attempt: SignedWithNonce, replaced: TxHash): void;
  cancelled(key: WalletKey, nonce: number, txHash: TxHash): void;
  /** How long the oldest gap has been open; 0: there is none. */
  gaps(key: WalletKey, oldestMs: number): void;
  /** By how many the chain's count is above what was given out here; 0: as it should be. */
  chainAhead(key: WalletKey, by: number): void;
  /** Which clocks differ too much for anything new to be signed; undefined: none. */
  clocksDiffer(key: WalletKey, difference: string | undefined): void;
  /** Keys of block producers that sources show and that do not count yet: none is. */
  newBlockKeys(key: WalletKey, keys: readonly string[]): void;
  /** The pool of one source alone is ahead by so many, and not believed any more; 0: it is not so. */
  poolDisbelieved(key: WalletKey, by: number): void;
  foreignTransactions(key: WalletKey, txHashes: readonly string[]): void;
  foreignNonces(key: WalletKey, nonces: readonly number[]): void;
  /** The same of a deposit address, which is not halted: whatever it still holds goes to cold storage all the sooner. */
  depositUsed(key: WalletKey, nonces: readonly number[]): void;
  /** The wallet was halted: this database knows less than was sent. */
  restored(key: WalletKey, reason: string): void;
  /** What became of an operator's word that a transaction paid a payout; `why`: why it could not be carried out. */
  decided(key: WalletKey, orderPk: string, txHash: TxHash, why: string | undefined): void;
  /** The lowest nonce waits too long, and the cap of the fees lets it offer no more; undefined: it does not. */
  feesAtCap(key: WalletKey, nonce: number | undefined): void;
  /** Transactions to be replaced that our key did not sign as the database says: none is. Each with its nonce and what differs. */
  forged(key: WalletKey, transactions: readonly string[]): void;
  /** Proven to land nowhere, each of them; their payouts may be signed anew. */
  buried(key: WalletKey, attempts: readonly SentPayment[]): void;
  /** Nobody could say of these, whose end is past, that no block holds them: their payouts wait for it. */
  unproven(key: WalletKey, attempts: readonly SentPayment[], error: unknown): void;
  /** A block was found to hold these, and the scanner has not said so. */
  unrecorded(key: WalletKey, txHashes: readonly TxHash[]): void;
  /** The wallet is driven here no more: nothing would end its alarms. */
  ended(key: WalletKey): void;
  /** The wallet's own money is moved to where it pays from. */
  gathering(key: WalletKey, gathering: Gathering, outcome: string): void;
  balances(key: WalletKey, rows: readonly BalanceRow[], alarms: BalanceAlarms): void;
  /** Why payouts of the chain wait for it, and how many were marked so now; undefined: they do not wait. */
  chainStopped(key: WalletKey, stop: ChainStatus | undefined, marked: number): void;
  /** Nodes failed at a step; it is tried again with the next pass. */
  stepFailed(key: WalletKey, step: string, error: unknown): void;
  /** A pass failed as a whole. */
  passFailed(key: WalletKey, error: unknown, failuresInRow: number): void;
  /** What a round of planning made of what lies on deposit addresses. */
  planned(chain: string, plan: SweepPlan): void;
  /** A sweep's next movement, or its end. */
  stepped(chain: string, sweepId: string, what: string, level?: 'info' | 'warn'): void;
  /** A seller of energy was asked for some, for so much at most. */
  ordered(
    chain: string,
    sweepId: string,
    seller: string,
    priceSun: bigint,
    outcome: { readonly kind: string },
  ): void;
  planningFailed(chain: Chain, error: unknown, failuresInRow: number): void;
  depositsFailed(chain: Chain, error: unknown, failuresInRow: number): void;
  /** A row says that a deposit address is to be emptied whose key this process has, or has not. */
  depositUnknown(chain: Chain, address: string, isOurs: boolean): void;
  passed(key: WalletKey): void;
  /** Whether this replica has the wallet's lease. */
  leads(key: WalletKey, isLeader: boolean): void;
  /** A network of the file on which no payout can be signed. */
  notConfigured(chain: string): void;
  presenceFailed(error: unknown): void;
  housekeepingFailed(error: unknown, failuresInRow: number): void;
  inboxRolled(rolled: Rolled): void;
}
