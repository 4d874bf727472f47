import type { TxHash } from '@opentill/chain/transfer';
import type { Rolled } from '@opentill/db/housekeeping';
import { chainStatusText, type ChainStatus } from '@opentill/domain/chain-status';
import type { Chain } from '@opentill/domain/chains';
import { NO_ENERGY } from '../sweeps/next-step.ts';
import { SWEEP_DELAYS, type SweepPlan } from '@opentill/domain/plan-sweeps';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { createAlarmEdges } from './alarm-edges.ts';
import type { AuthorisationDecisions } from '../policy/decide-authorisations.ts';
import type { OrderOutcome } from '../energy/energy-seller.ts';
import { createStepLog } from './step-log.ts';
import { observeAttempts, type ObserveAttempts } from './observe-attempts.ts';
import type { BalanceRow, SignedAttempt, TakenIn } from '../nonce/store/payout-store.ts';
import { createSignerMeters } from './signer-meters.ts';
import type { Telling } from './telling.ts';
import {
  inFlight,
  type BalanceAlarms,
  type Obstacle,
  type WalletKey,
  type WalletView,
} from '../payouts/payout-facts.ts';

/** What happens in the signer, by name: logged and counted in one place. No key, no signed bytes. */
export interface Observe extends ObserveAttempts {
  takenIn(key: WalletKey, taken: TakenIn): void;
  looked(key: WalletKey, view: WalletView): void;
  authorised(key: WalletKey, decisions: AuthorisationDecisions): void;
  hindered(key: WalletKey, orderPk: string, obstacle: Obstacle): void;
  /** What a node said when a payment was tried. */
  wouldFail(key: WalletKey, orderPk: string, detail: string): void;
  signed(key: WalletKey, attempts: readonly SignedAttempt[]): void;
  /** `first`: payouts that were sent for the first time. */
  sent(
    key: WalletKey,
    sent: readonly { readonly txHash: TxHash; readonly outcome: string }[],
    first: number,
  ): void;
  bumped(key: WalletKey, attempt: SignedAttempt, replaced: TxHash): void;
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
  stepped(chain: string, sweepId: string, what: string): void;
  /** A seller of energy was asked for some, for so much at most. */
  ordered(chain: string, sweepId: string, seller: string, priceSun: bigint, outcome: OrderOutcome): void;
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

export interface ObserveDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export function createObserve({ logger, metrics }: ObserveDeps): Observe {
  const meters = createSignerMeters(metrics);
  const parts = { logger, meters, alarms: createAlarmEdges(logger, meters) };
  return {
    ...observePayouts(parts),
    ...observeNonces(parts),
    ...observeAttempts(parts),
    ...observeWallet(parts),
    ...observePasses(parts),
    ...observeService(parts),
  };
}

function observePayouts({ logger, meters }: Telling) {
  return {
    authorised({ chain }, { authorised, needApproval, refused, obstacles }) {
      meters.authorised.inc({ chain }, authorised.length);
      for (const orderPk of authorised) logger.info('payout authorised', { chain, orderPk });
      for (const orderPk of needApproval) logger.info('payout waits for approval', { chain, orderPk });
      for (const { orderPk, reason } of refused) {
        meters.refused.inc({ chain, reason });
        logger.warn('payout refused', { chain, orderPk, reason });
      }
      for (const { orderPk, obstacle } of obstacles)
        logger.info('payout not authorised yet', { chain, orderPk, obstacle });
    },
    hindered({ chain }, orderPk, obstacle) {
      meters.hindered.inc({ chain, obstacle });
      logger.warn('payout not signed yet', { chain, orderPk, obstacle });
    },
    wouldFail({ chain }, orderPk, detail) {
      logger.warn('payment would fail', { chain, orderPk, detail });
    },
    signed({ chain }, attempts) {
      meters.signed.inc({ chain, purpose: 'PAYOUT' }, attempts.length);
      for (const { orderPk, signed } of attempts)
        logger.info('payout signed', { chain, orderPk, nonce: signed.nonce, txHash: signed.txHash });
    },
    sent({ chain }, sent, first) {
      meters.firstSent.inc({ chain }, first);
      for (const { txHash, outcome } of sent) {
        meters.sent.inc({ chain, outcome });
        if (outcome === 'REFUSED') logger.error('a node refuses a transaction', { chain, txHash });
        else logger.debug('transaction sent', { chain, txHash, outcome });
      }
    },
  } satisfies Partial<Observe>;
}

const GAP_ALARM_MS = 60_000;

function observeNonces({ logger, meters, alarms }: Telling) {
  return {
    takenIn({ chain }, { finalNonces, reopenedNonces, freedNonces, vetoedOrderPks }) {
      meters.final.inc({ chain }, finalNonces.length);
      if (reopenedNonces.length > 0)
        logger.warn('final transactions were reorganised away', { chain, nonces: reopenedNonces });
      if (freedNonces.length > 0) logger.info('nonces given back', { chain, nonces: freedNonces });
      for (const orderPk of vetoedOrderPks) logger.info('payout vetoed', { chain, orderPk });
    },
    bumped({ chain }, { signed }, replaced) {
      meters.signed.inc({ chain, purpose: 'BUMP' });
      logger.info('fees raised', { chain, nonce: signed.nonce, txHash: signed.txHash, replaced });
    },
    cancelled({ chain }, nonce, txHash) {
      meters.signed.inc({ chain, purpose: 'CANCEL' });
      logger.warn('gap filled by a transaction that moves nothing', { chain, nonce, txHash });
    },
    gaps(key, oldestMs) {
      meters.gap.set({ chain: key.chain }, oldestMs / 1_000);
      alarms.set('nonce-gap', key, oldestMs > GAP_ALARM_MS ? `for ${oldestMs} ms` : undefined);
    },
    chainAhead(key, by) {
      alarms.set('chain-ahead', key, by > 0 ? `by ${by} transactions` : undefined);
    },
    clocksDiffer(key, difference) {
      alarms.set('clocks-differ', key, difference);
    },
    newBlockKeys(key, keys) {
      alarms.set('new-block-keys', key, keys.length === 0 ? undefined : keys.join(', '));
    },
    poolDisbelieved(key, by) {
      alarms.set('pool-disbelieved', key, by > 0 ? `by ${by} transactions` : undefined);
    },
    restored({ chain, wallet }, reason) {
      logger.error('a hot wallet sent what this database does not know: halted', { chain, wallet, reason });
    },
    decided({ chain }, orderPk, txHash, why) {
      if (why === undefined)
        logger.warn('payout was paid by a forgotten transaction', { chain, orderPk, txHash });
      else logger.warn('decision not possible', { chain, orderPk, txHash, why });
    },
    feesAtCap(key, nonce) {
      alarms.set('fees-at-cap', key, nonce === undefined ? undefined : `nonce ${nonce}`);
    },
    forged(key, transactions) {
      alarms.set('forged', key, transactions.length === 0 ? undefined : transactions.join('; '));
    },
    foreignTransactions({ chain, wallet }, txHashes) {
      logger.error('a hot wallet did what nobody here signed: halted', { chain, wallet, txHashes });
    },
    depositUsed({ chain, wallet }, nonces) {
      logger.error('something unknown used nonces of a deposit address', { chain, address: wallet, nonces });
    },
    foreignNonces({ chain, wallet }, nonces) {
      logger.error('something unknown used nonces of a hot wallet: halted', { chain, wallet, nonces });
    },
  } satisfies Partial<Observe>;
}

function observeWallet({ logger, meters, alarms }: Telling) {
  return {
    looked(key, view) {
      const { chain } = key;
      const flying = inFlight(view.nonces);
      const signedAt = flying[0]?.attempts[0]?.signedAt.getTime();
      const seconds = signedAt === undefined ? 0 : (view.now.getTime() - signedAt) / 1_000;
      meters.inFlight.set({ chain }, flying.length);
      meters.waiting.set({ chain }, view.requested.length + view.unsigned.length);
      meters.oldestUnmined.set({ chain }, Math.max(0, seconds));
      alarms.set('halted', key, view.halted ?? undefined);
    },
    balances(key, rows, { lowGas, low, aboveFloat }) {
      const { chain, wallet } = key;
      for (const { symbol, amount } of rows) meters.balance.set({ chain, wallet, symbol }, Number(amount));
      const list = (amounts: ReadonlyMap<string, bigint>) =>
        amounts.size === 0 ? undefined : [...amounts].map(([s, amount]) => `${s} ${amount}`).join(', ');
      alarms.set('low-gas', key, lowGas === undefined ? undefined : `${lowGas}`);
      alarms.set('low-balance', key, list(low));
      alarms.set('above-float', key, list(aboveFloat));
    },
    passFailed({ chain }, error, failuresInRow) {
      meters.failures.inc({ chain, step: 'pass' });
      if (failuresInRow === 1 || failuresInRow % 30 === 0)
        logger.warn('pass failed', { chain, failuresInRow, error });
    },
    planned(chain, { begin, waiting, toCold }) {
      meters.sweepsPlanned.inc({ chain }, begin.length);
      for (const reason of SWEEP_DELAYS)
        meters.sweepsWaiting.set({ chain, reason }, waiting.filter((one) => one.reason === reason).length);
      if (begin.length + toCold.length > 0)
        logger.info('sweeps planned', {
          chain,
          sweeps: begin.length,
          toCold: toCold.map(({ symbol }) => symbol),
        });
    },
    stepped: (chain, sweepId, what) =>
      logger[what === NO_ENERGY ? 'warn' : 'info']('sweep', { chain, sweepId, what }),
    ordered(chain, sweepId, seller, priceSun, outcome) {
      const level = outcome.kind === 'ORDERED' ? 'info' : 'warn';
      logger[level]('energy ordered', { chain, sweepId, seller, priceSun: `${priceSun}`, ...outcome });
    },
    planningFailed(chain, error, failuresInRow) {
      meters.failures.inc({ chain, step: 'sweeps' });
      if (failuresInRow === 1 || failuresInRow % 30 === 0)
        logger.warn('sweeps not planned', { chain, failuresInRow, error });
    },
    depositsFailed(chain, error, failuresInRow) {
      meters.failures.inc({ chain, step: 'deposits' });
      if (failuresInRow === 1 || failuresInRow % 30 === 0)
        logger.warn('deposit addresses to be emptied not looked up', { chain, failuresInRow, error });
    },
    depositUnknown(chain, address, isOurs) {
      if (isOurs) return;
      meters.failures.inc({ chain, step: 'deposits' });
      logger.error('a deposit address that is none of this keystore is to be emptied', { chain, address });
    },
  } satisfies Partial<Observe>;
}

function observePasses({ logger, meters, alarms }: Telling) {
  const steps = createStepLog(logger);
  return {
    leads(key, isLeader) {
      meters.leads.set({ chain: key.chain, wallet: key.wallet }, isLeader ? 1 : 0);
      if (isLeader) return;
      alarms.clear(key);
      steps.forget(key);
    },
    chainStopped(key, stop, marked) {
      const { chain } = key;
      if (marked > 0) meters.hindered.inc({ chain, obstacle: 'CHAIN_HALTED' }, marked);
      alarms.set('chain-halted', key, stop === undefined ? undefined : chainStatusText(stop));
    },
    stepFailed(key, step, error) {
      meters.failures.inc({ chain: key.chain, step });
      steps.failed(key, step, error);
    },
    passed(key) {
      meters.passes.inc({ chain: key.chain });
      steps.passed(key);
    },
  } satisfies Partial<Observe>;
}

function observeService({ logger }: Telling) {
  return {
    notConfigured: (chain) =>
      logger.warn('payouts of this network are not configured: none is signed', { chain }),
    presenceFailed: (error) => logger.warn('presence not announced', { error }),
    housekeepingFailed(error, failuresInRow) {
      if (failuresInRow === 1 || failuresInRow % 30 === 0)
        logger.warn('housekeeping failed', { failuresInRow, error });
    },
    inboxRolled({ dropped, deleted }) {
      if (dropped + deleted > 0) logger.info('inbox rolled', { dropped, deleted });
    },
  } satisfies Partial<Observe>;
}
