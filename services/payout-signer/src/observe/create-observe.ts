import { chainStatusText } from '@opentill/domain/chain-status';
import { SWEEP_DELAYS } from '@opentill/domain/plan-sweeps';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { createAlarmEdges } from './alarm-edges.ts';
import { observeAttempts } from './observe-attempts.ts';
import type { Observe } from './observe.ts';
import { createSignerMeters } from './signer-meters.ts';
import { createStepLog } from './step-log.ts';
import type { ObservabilityDeps } from './observability-deps.ts';

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

function observePayouts({ logger, meters }: ObservabilityDeps) {
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
    blocked({ chain }, orderPk, obstacle) {
      meters.blocked.inc({ chain, obstacle });
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
        if (outcome === 'REFUSED') logger.error('transaction rejected by a node', { chain, txHash });
        else logger.debug('transaction sent', { chain, txHash, outcome });
      }
    },
  } satisfies Partial<Observe>;
}

const GAP_ALARM_MS = 60_000;

function observeNonces({ logger, meters, alarms }: ObservabilityDeps) {
  return {
    externalUpdatesApplied({ chain }, { finalNonces, reopenedNonces, freedNonces, vetoedOrderPks }) {
      meters.final.inc({ chain }, finalNonces.length);
      if (reopenedNonces.length > 0)
        logger.warn('final transactions reorganised', { chain, nonces: reopenedNonces });
      if (freedNonces.length > 0) logger.info('nonces given back', { chain, nonces: freedNonces });
      for (const orderPk of vetoedOrderPks) logger.info('payout vetoed', { chain, orderPk });
    },
    bumped({ chain }, { signed }, replaced) {
      meters.signed.inc({ chain, purpose: 'BUMP' });
      logger.info('fees raised', { chain, nonce: signed.nonce, txHash: signed.txHash, replaced });
    },
    cancelled({ chain }, nonce, txHash) {
      meters.signed.inc({ chain, purpose: 'CANCEL' });
      logger.warn('nonce gap filled', { chain, nonce, txHash });
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
      logger.error('wallet halted: sent transactions are unknown', { chain, wallet, reason });
    },
    decided({ chain }, orderPk, txHash, why) {
      if (why === undefined)
        logger.warn('payout paid by a forgotten transaction', { chain, orderPk, txHash });
      else logger.warn('decision not possible', { chain, orderPk, txHash, why });
    },
    feesAtCap(key, nonce) {
      alarms.set('fees-at-cap', key, nonce === undefined ? undefined : `nonce ${nonce}`);
    },
    forged(key, transactions) {
      alarms.set('forged', key, transactions.length === 0 ? undefined : transactions.join('; '));
    },
    foreignTransactions({ chain, wallet }, txHashes) {
      logger.error('wallet halted: foreign transactions', { chain, wallet, txHashes });
    },
    depositUsed({ chain, wallet }, nonces) {
      logger.error('foreign nonces of a deposit address', { chain, address: wallet, nonces });
    },
    foreignNonces({ chain, wallet }, nonces) {
      logger.error('wallet halted: foreign nonces', { chain, wallet, nonces });
    },
  } satisfies Partial<Observe>;
}

function observeWallet({ logger, meters, alarms }: ObservabilityDeps) {
  return {
    viewRead(key, { now, halted, requested, unsigned }, { count, oldestSignedAt }) {
      const { chain } = key;
      const ageMs = oldestSignedAt === undefined ? 0 : now.getTime() - oldestSignedAt.getTime();
      meters.inFlight.set({ chain }, count);
      meters.waiting.set({ chain }, requested.length + unsigned.length);
      meters.oldestUnmined.set({ chain }, Math.max(0, ageMs / 1_000));
      alarms.set('halted', key, halted ?? undefined);
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
    stepped: (chain, sweepId, what, level = 'info') => logger[level]('sweep', { chain, sweepId, what }),
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
        logger.warn('due deposit addresses not read', { chain, failuresInRow, error });
    },
    depositUnknown(chain, address, isOurs) {
      if (isOurs) return;
      meters.failures.inc({ chain, step: 'deposits' });
      logger.error('deposit address is not of this keystore', { chain, address });
    },
  } satisfies Partial<Observe>;
}

function observePasses({ logger, meters, alarms }: ObservabilityDeps) {
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
      if (marked > 0) meters.blocked.inc({ chain, obstacle: 'CHAIN_HALTED' }, marked);
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

function observeService({ logger }: ObservabilityDeps) {
  return {
    notConfigured: (chain) => logger.warn('payouts not configured', { chain }),
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
