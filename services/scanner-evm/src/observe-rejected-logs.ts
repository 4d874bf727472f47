import type { EvmReaderDeps } from '@opentill/chain-evm/reader';
import type { Chain } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';

export function createRejectedLogsObserver({
  logger,
  metrics,
}: {
  readonly logger: Logger;
  readonly metrics: Metrics;
}): (chain: Chain) => Required<Pick<EvmReaderDeps, 'onDecidedByReceipts'>> {
  const judged = metrics.counter<'chain' | 'reason'>({
    name: 'opentill_scanner_judged_blocks_total',
    help: 'Blocks whose logs were rejected and replaced by receipts',
    labelNames: ['chain', 'reason'],
  });
  const judgements = new Map<string, number>();
  return (chain) => ({
    onDecidedByReceipts({ height, hash, reason }) {
      judged.inc({ chain, reason });
      // A Byzantine source may affect every block. Logged at powers of two; the counter counts all.
      const times = (judgements.get(`${chain} ${reason}`) ?? 0) + 1;
      judgements.set(`${chain} ${reason}`, times);
      if (Number.isInteger(Math.log2(times)))
        logger.warn('block logs rejected', { chain, height, hash, reason, times });
    },
  });
}
