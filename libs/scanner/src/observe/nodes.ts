import { onNewFinding } from '@opentill/chain/finding-changes';
import type { Chain } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';

/** Receives what the readers of every family report of their nodes, for logs and metrics. */
export type NodeObserver = ReturnType<typeof createNodeObserver>;

export interface Exchange {
  readonly endpoint: string;
  /** Of each call in it. */
  readonly methods: readonly string[];
  readonly outcome: string;
  readonly durationMs: number;
  readonly requestBytes: number;
  readonly answerBytes: number;
}

export function createNodeObserver(
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics },
  onFinalityLag: (chain: Chain, source: string) => void,
) {
  const { exchanges, calls, bytes, compared } = createNodeMeters(metrics);
  const outcomes = new Map<Chain, string>();
  return (chain: Chain) => ({
    onExchange({ endpoint, methods, outcome, durationMs, requestBytes, answerBytes }: Exchange): void {
      exchanges.observe({ chain, endpoint, outcome }, durationMs / 1_000);
      bytes.inc({ chain, endpoint, direction: 'sent' }, requestBytes);
      bytes.inc({ chain, endpoint, direction: 'received' }, answerBytes);
      for (const method of methods) calls.inc({ chain, endpoint, method });
    },
    onCompared(comparison: {
      readonly outcome: string;
      readonly sources: readonly [string, string];
      readonly height: number;
    }): void {
      const { outcome, sources, height } = comparison;
      compared.inc({ chain, outcome });
      // While two sources are on different forks every round says so: the log has the edges.
      const isNews = outcomes.get(chain) !== outcome;
      outcomes.set(chain, outcome);
      if (isNews && outcome !== 'AGREED') logger.warn('sources differ', { chain, outcome, sources, height });
    },
    onFinalityLag(lag: {
      readonly source: string;
      readonly height: number;
      readonly lagSeconds: number;
    }): void {
      const { source, height, lagSeconds } = lag;
      onFinalityLag(chain, source);
      logger.debug('finality of a source passed over', { chain, source, height, lagSeconds });
    },
    onSourceChange(change: {
      readonly label: string;
      readonly trouble: string | null;
      readonly before: string | null;
    }): void {
      // A source rests for a moment after each failure; when it rests for long, an alarm says so.
      const level = change.trouble === 'RESTING' || change.before === 'RESTING' ? 'debug' : 'info';
      logger[level]('source changed', { chain, ...change });
    },
    onFinding: onNewFinding(({ source, kind, error }) =>
      logger.warn('source found wanting', { chain, source, kind, error }),
    ),
  });
}

function createNodeMeters(metrics: Metrics) {
  const exchanges = metrics.histogram<'chain' | 'endpoint' | 'outcome'>({
    name: 'opentill_scanner_rpc_duration_seconds',
    help: 'HTTP exchanges with nodes, each one call or a batch',
    labelNames: ['chain', 'endpoint', 'outcome'],
  });
  const calls = metrics.counter<'chain' | 'endpoint' | 'method'>({
    name: 'opentill_scanner_rpc_calls_total',
    help: 'Calls to nodes, each one of a batch',
    labelNames: ['chain', 'endpoint', 'method'],
  });
  const bytes = metrics.counter<'chain' | 'endpoint' | 'direction'>({
    name: 'opentill_scanner_rpc_bytes_total',
    help: 'Bodies of requests to nodes and of their answers, as they went over the wire',
    labelNames: ['chain', 'endpoint', 'direction'],
  });
  const compared = metrics.counter<'chain' | 'outcome'>({
    name: 'opentill_scanner_compared_ranges_total',
    help: 'Ranges of which two sources were asked, by what their answers came to',
    labelNames: ['chain', 'outcome'],
  });
  return { exchanges, calls, bytes, compared };
}
