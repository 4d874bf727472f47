import type { EvmReaderDeps } from '@opentill/chain-evm/reader';
import type { SourceComparison } from '@opentill/chain-evm/reading';
import type { Chain } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import type { ScanObserver } from '@opentill/scanner/observe';

/** What the service reports beside its scan loops. */
export interface Observe {
  /** What the reader of a chain tells of its node. */
  node(chain: Chain): Required<Omit<EvmReaderDeps, 'requestTimeoutMs' | 'nowMs' | 'epochMs' | 'onAlone'>>;
  presenceFailed(error: unknown): void;
}

export function createObserve({
  logger,
  metrics,
  scans,
}: {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly scans: Pick<ScanObserver, 'finalityLags'>;
}): Observe {
  const { exchanges, calls, bytes, judged, compared } = createNodeMeters(metrics);
  const judgements = new Map<string, number>();
  const outcomes = new Map<Chain, SourceComparison['outcome']>();
  return {
    node: (chain) => ({
      onExchange({ endpoint, methods, outcome, durationMs, requestBytes, answerBytes }) {
        exchanges.observe({ chain, endpoint, outcome }, durationMs / 1_000);
        bytes.inc({ chain, endpoint, direction: 'sent' }, requestBytes);
        bytes.inc({ chain, endpoint, direction: 'received' }, answerBytes);
        for (const method of methods) calls.inc({ chain, endpoint, method });
      },
      onJudged({ height, hash, reason }) {
        judged.inc({ chain, reason });
        // A source may lie in every block: told at first and then ever more rarely; the counter has them all.
        const times = (judgements.get(`${chain} ${reason}`) ?? 0) + 1;
        judgements.set(`${chain} ${reason}`, times);
        if (Number.isInteger(Math.log2(times)))
          logger.warn('logs of a block not believed', { chain, height, hash, reason, times });
      },
      onCompared({ outcome, sources, height }) {
        compared.inc({ chain, outcome });
        // While two sources are on different forks every round says so: the log has the edges.
        const isNews = outcomes.get(chain) !== outcome;
        outcomes.set(chain, outcome);
        if (isNews && outcome !== 'AGREED')
          logger.warn('sources differ', { chain, outcome, sources, height });
      },
      onFinalityLag({ source, height, lagSeconds }) {
        scans.finalityLags(chain, source);
        logger.debug('finality of a source passed over', { chain, source, height, lagSeconds });
      },
      onSourceChange(change) {
        // A source rests for a moment after each failure; when it rests for long, an alarm says so.
        const level = change.trouble === 'RESTING' || change.before === 'RESTING' ? 'debug' : 'info';
        logger[level]('source changed', { chain, ...change });
      },
      onFinding: ({ source, kind, error }) =>
        logger.warn('source found wanting', { chain, source, kind, error }),
    }),
    presenceFailed: (error) => logger.warn('presence not announced', { error }),
  };
}

function createNodeMeters(metrics: Metrics) {
  const exchanges = metrics.histogram<'chain' | 'endpoint' | 'outcome'>({
    name: 'scanner_rpc_duration_seconds',
    help: 'HTTP exchanges with nodes, each one call or a batch',
    labelNames: ['chain', 'endpoint', 'outcome'],
  });
  const calls = metrics.counter<'chain' | 'endpoint' | 'method'>({
    name: 'scanner_rpc_calls_total',
    help: 'Calls to nodes, each one of a batch',
    labelNames: ['chain', 'endpoint', 'method'],
  });
  const bytes = metrics.counter<'chain' | 'endpoint' | 'direction'>({
    name: 'scanner_rpc_bytes_total',
    help: 'Bodies of requests to nodes and of their answers, as they went over the wire',
    labelNames: ['chain', 'endpoint', 'direction'],
  });
  const judged = metrics.counter<'chain' | 'reason'>({
    name: 'scanner_judged_blocks_total',
    help: 'Blocks whose logs were not believed and whose receipts decided',
    labelNames: ['chain', 'reason'],
  });
  const compared = metrics.counter<'chain' | 'outcome'>({
    name: 'scanner_compared_ranges_total',
    help: 'Ranges of which two sources were asked, by what their answers came to',
    labelNames: ['chain', 'outcome'],
  });
  return { exchanges, calls, bytes, judged, compared };
}
