import { onNewFinding } from '@opentill/chain/finding-changes';
import type { Chain } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';

export type NodeObserver = ReturnType<typeof createNodeObserver>;

export interface Exchange {
  readonly endpoint: string;
  /** One entry per call of the batch. */
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
      // While two sources are on different forks every round reports it; only changes are logged.
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
      logger.debug('finality of a lagging source ignored', { chain, source, height, lagSeconds });
    },
    onSourceChange(change: {
      readonly label: string;
      readonly trouble: string | null;
      readonly before: string | null;
    }): void {
      // A source backs off briefly after each failure. An alarm reports a longer outage.
      const level = change.trouble === 'RESTING' || change.before === 'RESTING' ? 'debug' : 'info';
      logger[level]('source changed', { chain, ...change });
    },
    onFinding: onNewFinding(({ source, kind, error }) =>
      logger.warn('source rejected', { chain, source, kind, error }),
    ),
  });
}

function createNodeMeters(metrics: Metrics) {
  const exchanges = metrics.histogram<'chain' | 'endpoint' | 'outcome'>({
    name: 'opentill_scanner_rpc_duration_seconds',
    help: 'Duration of HTTP requests to nodes (one call or batch each)',
    labelNames: ['chain', 'endpoint', 'outcome'],
  });
  const calls = metrics.counter<'chain' | 'endpoint' | 'method'>({
    name: 'opentill_scanner_rpc_calls_total',
    help: 'RPC calls to nodes; a batch counts each call',
    labelNames: ['chain', 'endpoint', 'method'],
  });
  const bytes = metrics.counter<'chain' | 'endpoint' | 'direction'>({
    name: 'opentill_scanner_rpc_bytes_total',
    help: 'Bytes of request and response bodies on the wire',
    labelNames: ['chain', 'endpoint', 'direction'],
  });
  const compared = metrics.counter<'chain' | 'outcome'>({
    name: 'opentill_scanner_compared_ranges_total',
    help: 'Block ranges requested from two sources, by result of the comparison',
    labelNames: ['chain', 'outcome'],
  });
  return { exchanges, calls, bytes, compared };
}
