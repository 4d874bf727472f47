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

export interface MeasuredView {
  readonly now: Date;
  readonly halted: string | null;
  readonly requested: readonly unknown[];
  readonly unsigned: readonly unknown[];
}

export interface InFlight {
  readonly count: number;
  readonly oldestSignedAt: Date | undefined;
}

export interface PaidTransaction {
  readonly orderPk: string | null;
}

export type SignedWithNonce = PaidTransaction & {
  readonly signed: { readonly nonce: number; readonly txHash: TxHash };
};

export type SentPayment = PaidTransaction & { readonly txHash: TxHash };

/** Logs and counts events. They contain no key and no signed bytes. */
export interface Observe {
  externalUpdatesApplied(
    key: WalletKey,
    taken: {
      readonly finalNonces: readonly number[];
      readonly reopenedNonces: readonly number[];
      readonly freedNonces: readonly number[];
      readonly vetoedOrderPks: readonly string[];
    },
  ): void;
  attemptUpdatesApplied(
    key: WalletKey,
    taken: {
      readonly settled: readonly TxHash[];
      readonly reopened: readonly TxHash[];
      readonly vetoedOrderPks: readonly string[];
    },
  ): void;
  viewRead(key: WalletKey, readView: MeasuredView, inFlight: InFlight): void;
  /** In no block. Ends alarms about other transactions of the wallet. */
  stillInFlight(key: WalletKey, txHashes: readonly TxHash[]): void;
  authorised(key: WalletKey, decisions: AuthorisationDecisions): void;
  blocked(key: WalletKey, orderPk: string, obstacle: Obstacle): void;
  wouldFail(key: WalletKey, orderPk: string, detail: string): void;
  signed(key: WalletKey, attempts: readonly SignedWithNonce[]): void;
  attemptsSigned(
    key: WalletKey,
    payments: readonly (PaidTransaction & {
      readonly signed: { readonly txHash: TxHash; readonly validity: { readonly expiresMs: number } };
    })[],
  ): void;
  sent(
    key: WalletKey,
    sent: readonly { readonly txHash: TxHash; readonly outcome: string }[],
    first: number,
  ): void;
  bumped(key: WalletKey, attempt: SignedWithNonce, replaced: TxHash): void;
  cancelled(key: WalletKey, nonce: number, txHash: TxHash): void;
  gaps(key: WalletKey, oldestMs: number): void;
  /** Transactions by which the chain's count exceeds the assigned nonces; 0: healthy. */
  chainAhead(key: WalletKey, by: number): void;
  clocksDiffer(key: WalletKey, difference: string | undefined): void;
  newBlockKeys(key: WalletKey, keys: readonly string[]): void;
  /** Transactions by which a single source's pool is ahead when it is no longer believed; 0: none. */
  poolDisbelieved(key: WalletKey, by: number): void;
  foreignTransactions(key: WalletKey, txHashes: readonly string[]): void;
  foreignNonces(key: WalletKey, nonces: readonly number[]): void;
  /** A deposit address is not halted, because its balance only goes to cold storage. */
  depositUsed(key: WalletKey, nonces: readonly number[]): void;
  restored(key: WalletKey, reason: string): void;
  /** An operator's PAID_BY decision; `why`: reason why it was not possible. */
  decided(key: WalletKey, orderPk: string, txHash: TxHash, why: string | undefined): void;
  feesAtCap(key: WalletKey, nonce: number | undefined): void;
  /** Transactions that our key did not sign as their rows describe, each with nonce and difference. */
  forged(key: WalletKey, transactions: readonly string[]): void;
  provenDead(key: WalletKey, attempts: readonly SentPayment[]): void;
  /** Overdue attempts without proof of death. Their payouts wait. */
  unproven(key: WalletKey, attempts: readonly SentPayment[], error: unknown): void;
  unrecorded(key: WalletKey, txHashes: readonly TxHash[]): void;
  ended(key: WalletKey): void;
  gathering(key: WalletKey, gathering: Gathering, outcome: string): void;
  balances(key: WalletKey, rows: readonly BalanceRow[], alarms: BalanceAlarms): void;
  /** `stop`: the chain's status, while it makes payouts wait. `marked`: how many were marked now. */
  chainStopped(key: WalletKey, stop: ChainStatus | undefined, marked: number): void;
  stepFailed(key: WalletKey, step: string, error: unknown): void;
  passFailed(key: WalletKey, error: unknown, failuresInRow: number): void;
  planned(chain: string, plan: SweepPlan): void;
  stepped(chain: string, sweepId: string, what: string, level?: 'info' | 'warn'): void;
  ordered(
    chain: string,
    sweepId: string,
    seller: string,
    priceSun: bigint,
    outcome: { readonly kind: string },
  ): void;
  planningFailed(chain: Chain, error: unknown, failuresInRow: number): void;
  depositsFailed(chain: Chain, error: unknown, failuresInRow: number): void;
  /** `isOurs`: this process has the key of a deposit address that a row lists for sweeping. */
  depositUnknown(chain: Chain, address: string, isOurs: boolean): void;
  passed(key: WalletKey): void;
  leads(key: WalletKey, isLeader: boolean): void;
  notConfigured(chain: string): void;
  presenceFailed(error: unknown): void;
  housekeepingFailed(error: unknown, failuresInRow: number): void;
  inboxRolled(rolled: Rolled): void;
}
