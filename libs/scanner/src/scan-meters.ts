import { CHAIN_STATES } from '@opentill/domain/chain-status';
import type { Chain } from '@opentill/domain/chains';
import type { Clock } from '@opentill/runtime/clock';
import type { Metrics } from '@opentill/runtime/metrics';
import type { AlarmWatch } from './alarm-watch.ts';
import { ALARM_KINDS } from './alarms.ts';
import type { ChainFigures } from './chain-figures.ts';
import { statusOf } from './chain-health.ts';
import { seenBlock } from './chain-state.ts';

/** What is counted as it happens. */
export interface ScanMeters {
  readonly errors: ReturnType<Metrics['counter']>;
  readonly transfers: ReturnType<Metrics['counter']>;
  readonly fates: ReturnType<Metrics['counter']>;
  readonly commits: ReturnType<Metrics['counter']>;
  readonly refusedCommits: ReturnType<Metrics['counter']>;
  readonly reorganisations: ReturnType<Metrics['counter']>;
  readonly contradictions: ReturnType<Metrics['counter']>;
  readonly depth: ReturnType<Metrics['histogram']>;
}

function createAlarmGauge(
  metrics: Metrics,
  figures: ReadonlyMap<Chain, ChainFigures>,
  alarms: AlarmWatch,
): void {
  metrics.gauge<'chain' | 'kind'>({
    name: 'scanner_alarm',
    help: '1 while somebody should look at the chain for this reason; absent where another replica scans it',
    labelNames: ['chain', 'kind'],
    collect(gauge) {
      gauge.reset();
      for (const [chain, figure] of figures) {
        const raised = alarms.judge(chain);
        if (figure.state === undefined && raised.size === 0) continue;
        for (const kind of ALARM_KINDS) gauge.set({ chain, kind }, raised.has(kind) ? 1 : 0);
      }
    },
  });
}

function createStateGauge(
  metrics: Metrics,
  figures: ReadonlyMap<Chain, ChainFigures>,
  { alarms, clock }: { readonly alarms: AlarmWatch; readonly clock: Clock },
): void {
  metrics.gauge<'chain' | 'state'>({
    name: 'scanner_chain_state',
    help: '1 for the present state of the chain, as in /readyz',
    labelNames: ['chain', 'state'],
    collect(gauge) {
      gauge.reset();
      for (const [chain, figure] of figures) {
        const { state } = statusOf(figure, alarms.judge(chain), clock.now().getTime());
        for (const one of CHAIN_STATES) gauge.set({ chain, state: one }, one === state ? 1 : 0);
      }
    },
  });
}

/** The metrics of the scan loops. The gauges are computed from `figures` at each scrape. */
export function createScanMeters(
  metrics: Metrics,
  {
    figures,
    alarms,
    clock,
  }: {
    readonly figures: ReadonlyMap<Chain, ChainFigures>;
    readonly alarms: AlarmWatch;
    readonly clock: Clock;
  },
): ScanMeters {
  createAlarmGauge(metrics, figures, alarms);
  createStateGauge(metrics, figures, { alarms, clock });
  const perChain = (
    name: string,
    help: string,
    value: (figure: ChainFigures, nowMs: number) => number | undefined,
  ): void => {
    metrics.gauge<'chain'>({
      name,
      help,
      labelNames: ['chain'],
      collect(gauge) {
        gauge.reset();
        for (const [chain, figure] of figures) {
          const now = value(figure, clock.now().getTime());
          if (now !== undefined) gauge.set({ chain }, now);
        }
      },
    });
  };
  perChain('scanner_head_height_blocks', 'Newest known block', (f) => f.state?.head.height);
  perChain('scanner_seen_height_blocks', 'Seen cursor', (f) => f.state && seenBlock(f.state).height);
  perChain('scanner_verified_height_blocks', 'Verified cursor', (f) => f.state?.verifiedHeight);
  perChain(
    'scanner_head_age_seconds',
    'Since the head moved last',
    (f, now) => f.state && (now - f.headMovedAtMs) / 1000,
  );
  perChain('scanner_verified_age_seconds', 'Since the verified cursor moved last', (f, now) =>
    f.state ? (now - f.verifiedMovedAtMs) / 1000 : undefined,
  );
  perChain('scanner_halted_chains', '1 while the chain stands still until somebody looks', (f) =>
    f.halted ? 1 : 0,
  );
  perChain(
    'scanner_own_transactions_open',
    'Transactions of the gateway itself of which the last word is not said',
    (f) => f.fates?.open,
  );
  perChain(
    'scanner_own_transaction_unmined_age_seconds',
    'Since the oldest own transaction that is in no block was signed; 0 when there is none',
    (f, now) => f.fates && Math.max(0, now / 1000 - (f.fates.oldestUnminedSeconds ?? now / 1000)),
  );
  return createCounters(metrics);
}

function createCounters(metrics: Metrics): ScanMeters {
  const counter = (
    name: string,
    help: string,
    ...labelNames: readonly string[]
  ): ReturnType<Metrics['counter']> => metrics.counter<string>({ name, help, labelNames });
  return {
    errors: counter('scanner_errors_total', 'Failed rounds, by code', 'chain', 'part', 'code'),
    transfers: counter(
      'scanner_transfers_total',
      'Transfers written, by what became of them',
      'chain',
      'state',
    ),
    fates: counter(
      'scanner_own_fates_changed_total',
      'Own transactions of which something new was written',
      'chain',
    ),
    commits: counter('scanner_commits_total', 'Committed changes', 'chain'),
    refusedCommits: counter(
      'scanner_refused_commits_total',
      'Commits of a replica that had lost the chain without knowing: nothing was written',
      'chain',
    ),
    reorganisations: counter('scanner_reorganisations_total', 'Reorganisations followed', 'chain'),
    contradictions: counter(
      'scanner_contradictions_total',
      'Transfers on which answers differed',
      'chain',
      'kind',
    ),
    depth: metrics.histogram<string>({
      name: 'scanner_reorganisation_depth_blocks',
      help: 'Stored blocks taken back by a reorganisation',
      labelNames: ['chain'],
      buckets: [1, 2, 3, 5, 8, 16, 32, 64, 128, 256],
    }),
  };
}
