import { CHAIN_STATES } from '@opentill/domain/chain-status';
import type { Chain } from '@opentill/domain/chains';
import type { Metrics } from '@opentill/runtime/metrics';
import { seenBlock } from '../chain-state.ts';
import type { AlarmWatch } from './alarm-watch.ts';
import { ALARM_KINDS } from './alarms.ts';
import { statusOf, type ChainFigures } from './chain-figures.ts';

type Counter = ReturnType<Metrics['counter']>;

export type ScanMeters = Readonly<
  Record<
    'errors' | 'transfers' | 'fates' | 'commits' | 'refusedCommits' | 'reorganisations' | 'contradictions',
    Counter
  >
> & { readonly depth: ReturnType<Metrics['histogram']> };

interface MeterDeps {
  readonly figures: ReadonlyMap<Chain, ChainFigures>;
  readonly alarms: AlarmWatch;
  readonly nowMs: () => number;
}

/** One value per chain. Undefined omits the chain. */
const FIGURES: readonly (readonly [
  name: string,
  help: string,
  value: (figure: ChainFigures, nowMs: number) => number | undefined,
])[] = [
  ['opentill_scanner_head_height_blocks', 'Newest known block', ({ state }) => state?.head.height],
  ['opentill_scanner_seen_height_blocks', 'Seen cursor', ({ state }) => state && seenBlock(state).height],
  ['opentill_scanner_verified_height_blocks', 'Verified cursor', ({ state }) => state?.verifiedHeight],
  [
    'opentill_scanner_head_age_seconds',
    'Seconds since the head last moved',
    (f, nowMs) => f.state && (nowMs - f.headMovedAtMs) / 1000,
  ],
  [
    'opentill_scanner_verified_age_seconds',
    'Seconds since the verified cursor last moved',
    (f, nowMs) => f.state && (nowMs - f.verifiedMovedAtMs) / 1000,
  ],
  [
    'opentill_scanner_halted_bool',
    '1 while the chain is halted until an operator decides',
    ({ halted }) => (halted ? 1 : 0),
  ],
  [
    'opentill_scanner_own_transactions_open_count',
    'Own transactions without a final outcome',
    ({ own }) => own?.open,
  ],
  [
    'opentill_scanner_own_transaction_unmined_age_seconds',
    'Seconds since the oldest unmined own transaction was signed; 0 if there is none',
    ({ own }, nowMs) => own && Math.max(0, nowMs / 1000 - (own.oldestUnminedSeconds ?? nowMs / 1000)),
  ],
];

export function createScanMeters(metrics: Metrics, { figures, alarms, nowMs }: MeterDeps): ScanMeters {
  const gauge = (
    [name, help]: readonly [string, string],
    labels: readonly string[],
    valuesOf: (chain: Chain, figure: ChainFigures) => readonly (readonly [string, number | undefined])[],
  ): void => {
    metrics.gauge<string>({
      name,
      help,
      labelNames: ['chain', ...labels],
      collect(set) {
        set.reset();
        for (const [chain, figure] of figures)
          for (const [label, value] of valuesOf(chain, figure))
            if (value !== undefined)
              set.set({ chain, ...Object.fromEntries(labels.map((one) => [one, label])) }, value);
      },
    });
  };
  gauge(
    ['opentill_scanner_alarm_bool', '1 while the alarm is active; absent if another replica scans the chain'],
    ['kind'],
    (chain, { state }) => {
      const raised = alarms.judge(chain);
      if (state === undefined && raised.size === 0) return [];
      return ALARM_KINDS.map((kind) => [kind, raised.has(kind) ? 1 : 0]);
    },
  );
  gauge(
    ['opentill_scanner_chain_state_bool', '1 for the current state of the chain, as in /readyz'],
    ['state'],
    (chain, figure) => {
      const { state } = statusOf(figure, alarms.judge(chain), nowMs());
      return CHAIN_STATES.map((one) => [one, one === state ? 1 : 0]);
    },
  );
  for (const [name, help, value] of FIGURES)
    gauge([name, help], [], (_, figure) => [['', value(figure, nowMs())]]);
  return createCounters(metrics);
}

function createCounters(metrics: Metrics): ScanMeters {
  const counter = (name: string, help: string, ...labels: readonly string[]): Counter =>
    metrics.counter<string>({ name, help, labelNames: ['chain', ...labels] });
  return {
    errors: counter('opentill_scanner_errors_total', 'Failed rounds, by code', 'part', 'code'),
    transfers: counter('opentill_scanner_transfers_total', 'Transfers written, by new state', 'state'),
    fates: counter('opentill_scanner_own_fates_changed_total', 'Changed outcomes of own transactions'),
    commits: counter('opentill_scanner_commits_total', 'Committed changes'),
    refusedCommits: counter(
      'opentill_scanner_refused_commits_total',
      'Commits rejected because the lease was lost; no row was written',
    ),
    reorganisations: counter('opentill_scanner_reorganisations_total', 'Reorganisations followed'),
    contradictions: counter(
      'opentill_scanner_contradictions_total',
      'Transfers on which answers of nodes differed',
      'kind',
    ),
    depth: metrics.histogram<string>({
      name: 'opentill_scanner_reorganisation_depth_blocks',
      help: 'Stored blocks removed by a reorganisation',
      labelNames: ['chain'],
      buckets: [1, 2, 3, 5, 8, 16, 32, 64, 128, 256],
    }),
  };
}
