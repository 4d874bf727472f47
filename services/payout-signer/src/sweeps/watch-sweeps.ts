import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Metrics } from '@opentill/runtime/metrics';
import { readSweepFigures, type SweepFigures } from './store/sweep-figures.ts';

/** Label values of the metric `opentill_signer_sweep_alarm_bool`. */
export const SWEEP_ALARM_KINDS = [
  /** For hours: the fee or the transfer makes no progress. */
  'sweep-stuck',
  'sweep-failed',
  /** Energy was paid for in the last day, and no sweep used it. Mostly it was never delivered. */
  'energy-unused',
] as const;
type SweepAlarm = (typeof SWEEP_ALARM_KINDS)[number];

export interface WatchSweepsDeps {
  readonly db: Db;
  readonly chains: readonly Chain[];
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly metrics: Metrics;
  readonly everyMs?: number;
}

const EVERY_MS = 15_000;
/** Two confirmed transactions and a pause take minutes each, on any chain. */
const STUCK_SECONDS = 7_200;

/** Reads the database only, so every replica reports the same. */
export function startWatchingSweeps({ db, chains, everyMs = EVERY_MS, ...out }: WatchSweepsDeps): Loop {
  const show = createSweepMeters(out);
  return startLoop({
    name: 'figures of sweeps',
    intervalMs: everyMs,
    maxBackoffMs: Math.max(everyMs, EVERY_MS),
    run: async () => {
      for (const figures of await readSweepFigures(db, chains)) show(figures);
    },
    onError: (error, failuresInRow) => {
      if (failuresInRow === 1 || failuresInRow % 30 === 0)
        out.logger.warn('sweeps not measured', { failuresInRow, error });
    },
  });
}

type Figure = keyof Omit<SweepFigures, 'chain'>;
const FIGURES: Readonly<Record<Figure, { readonly name: string; readonly help: string }>> = {
  oldestUnsweptSeconds: {
    name: 'opentill_signer_sweep_oldest_unswept_seconds',
    help: 'Age of the oldest money on deposit addresses that is reserved for no sweep; 0: none',
  },
  open: { name: 'opentill_signer_sweeps_open_count', help: 'Sweeps under way' },
  oldestOpenSeconds: {
    name: 'opentill_signer_sweep_oldest_open_seconds',
    help: 'Age of the oldest sweep under way; 0: none',
  },
  failed: {
    name: 'opentill_signer_sweeps_failed_count',
    help: 'Sweeps that ended FAILED in the last 24 hours',
  },
  unusedTopUps: {
    name: 'opentill_signer_sweep_top_ups_unused_count',
    help: 'Fees brought in the last 24 hours for sweeps that ended without a transfer',
  },
  unusedRents: {
    name: 'opentill_signer_sweep_rents_unused_count',
    help: 'Energy orders of the last 24 hours for sweeps that ended without a transfer',
  },
};

function createSweepMeters({ logger, metrics }: Pick<WatchSweepsDeps, 'logger' | 'metrics'>) {
  const gauges = Object.entries(FIGURES).map(([figure, { name, help }]) => {
    const gauge = metrics.gauge({ name, help, labelNames: ['chain'] });
    return [figure as Figure, gauge] as const;
  });
  const alarm = metrics.gauge({
    name: 'opentill_signer_sweep_alarm_bool',
    help: '1 while the alarm holds',
    labelNames: ['chain', 'kind'],
  });
  const raised = new Set<string>();
  const set = (chain: Chain, kind: SweepAlarm, detail: string | undefined) => {
    const id = `${kind} ${chain}`;
    alarm.set({ chain, kind }, detail === undefined ? 0 : 1);
    if (detail === undefined && raised.delete(id)) logger.info('alarm cleared', { chain, kind });
    if (detail === undefined || raised.has(id)) return;
    raised.add(id);
    logger.warn('alarm raised', { chain, kind, detail });
  };
  return (figures: SweepFigures): void => {
    const { chain, oldestOpenSeconds, failed, unusedRents } = figures;
    for (const [figure, gauge] of gauges) gauge.set({ chain }, figures[figure]);
    const isStuck = oldestOpenSeconds > STUCK_SECONDS;
    set(chain, 'sweep-stuck', isStuck ? `for ${Math.round(oldestOpenSeconds)} s` : undefined);
    set(chain, 'sweep-failed', failed > 0 ? `${failed} in the last day` : undefined);
    const isUnused = unusedRents > 0;
    set(chain, 'energy-unused', isUnused ? `${unusedRents} orders in the last day` : undefined);
  };
}
