import type { RateDecision } from '@opentill/domain/decide-rate';
import type { Clock } from '@opentill/runtime/clock';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import type { RateSettings } from './rate-settings.ts';
import type { PairRate } from './store/rates.ts';

export interface Observe {
  sourceRead(source: string): void;
  sourceFailed(source: string, path: string, error: unknown): void;
  /** Called for each pair of a coin. Logs only changes. */
  decided(symbol: string, peg: string, decision: RateDecision): void;
  /** Logs only changes. */
  ratesSaved(rates: readonly PairRate[]): void;
  roundFailed(loop: string, error: unknown, failuresInRow: number): void;
}

export interface ObserveDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly settings: Pick<RateSettings, 'pollIntervalMs'>;
}

export function createObserve({ logger, metrics, clock, settings }: ObserveDeps): Observe {
  const { answers, offered, depegged, distance, interval } = createRateMetrics(metrics);
  interval.set(settings.pollIntervalMs / 1_000);
  const failing = new Set<string>();
  const depeggedCoins = new Set<string>();
  const refusals = new Map<string, string | null>();
  let savedAtMs = clock.now().getTime();
  metrics.gauge({
    name: 'opentill_rates_saved_age_seconds',
    help: 'Time since a round stored its rates; before the first one, since the start',
    collect(gauge) {
      gauge.set((clock.now().getTime() - savedAtMs) / 1_000);
    },
  });

  return {
    sourceRead(source) {
      answers.inc({ source, outcome: 'read' });
      if (failing.delete(source)) logger.info('rate source recovered', { source });
    },
    sourceFailed(source, path, error) {
      answers.inc({ source, outcome: 'failed' });
      if (failing.has(source)) return;
      failing.add(source);
      logger.warn('rate source failed', { source, path, error });
    },
    decided(symbol, peg, { pegDistanceBps, isDepegged }) {
      distance.set({ symbol }, pegDistanceBps === undefined ? Number.NaN : pegDistanceBps / 10_000);
      if (isDepegged && !depeggedCoins.has(symbol)) {
        depeggedCoins.add(symbol);
        logger.error('coin depegged', { symbol, peg, pegDistanceBps });
      } else if (!isDepegged && pegDistanceBps !== undefined && depeggedCoins.delete(symbol)) {
        logger.info('coin back at its peg', { symbol, peg, pegDistanceBps });
      }
      depegged.set({ symbol }, depeggedCoins.has(symbol) ? 1 : 0);
    },
    ratesSaved(rates) {
      savedAtMs = clock.now().getTime();
      for (const { symbol, currency, rate, refusal } of rates) {
        offered.set({ symbol, currency }, rate === null ? 0 : 1);
        const pair = `${symbol}/${currency}`;
        if (refusals.get(pair) === refusal) continue;
        refusals.set(pair, refusal);
        if (rate === null) logger.error('rate refused', { symbol, currency, reason: refusal });
        else logger.info('rate offered', { symbol, currency, rate: rate.rate, kind: rate.kind });
      }
    },
    roundFailed(loop, error, failuresInRow) {
      logger.error('round failed', { loop, failuresInRow, error });
    },
  };
}

function createRateMetrics(metrics: Metrics) {
  const answers = metrics.counter({
    name: 'opentill_rates_source_answers_total',
    help: 'Requests to public sources by outcome',
    labelNames: ['source', 'outcome'],
  });
  const offered = metrics.gauge({
    name: 'opentill_rates_offered_bool',
    help: '1 while the pair has a rate, 0 while it is refused',
    labelNames: ['symbol', 'currency'],
  });
  const depegged = metrics.gauge({
    name: 'opentill_rates_depegged_bool',
    help: '1 from an agreed price farther from the peg than PEG_TOLERANCE_BPS until an agreed one at the peg',
    labelNames: ['symbol'],
  });
  const distance = metrics.gauge({
    name: 'opentill_rates_peg_distance_ratio',
    help: 'Distance of the coin from its peg; NaN while its sources do not agree',
    labelNames: ['symbol'],
  });
  const interval = metrics.gauge({
    name: 'opentill_rates_interval_seconds',
    help: 'Time between two rounds, as configured',
  });
  return { answers, offered, depegged, distance, interval };
}
