import type { EvmReaderDeps } from '@opentill/chain-evm/reader';
import type { Chain } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';

/** What the service reports beside its scan loops. */
export interface Observe {
  /** What the reader of a chain tells of its node. */
  node(chain: Chain): Pick<Required<EvmReaderDeps>, 'onExchange' | 'onJudged'>;
  presenceFailed(error: unknown): void;
}

export function createObserve({
  logger,
  metrics,
}: {
  readonly logger: Logger;
  readonly metrics: Metrics;
}): Observe {
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
        logger.warn('logs of a block not believed', { chain, height, hash, reason });
      },
    }),
    presenceFailed: (error) => logger.warn('presence not announced', { error }),
  };
}
