import type { EvmReaderDeps } from '@opentill/chain-evm/reader';
import type { Chain } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';

/** What a reader tells of blocks whose logs it did not believe. */
export function createJudgementObserver({
  logger,
  metrics,
}: {
  readonly logger: Logger;
  readonly metrics: Metrics;
}): (chain: Chain) => Required<Pick<EvmReaderDeps, 'onJudged'>> {
  const judged = metrics.counter<'chain' | 'reason'>({
    name: 'opentill_scanner_judged_blocks_total',
    help: 'Blocks whose logs were not believed and whose receipts decided',
    labelNames: ['chain', 'reason'],
  });
  const judgements = new Map<string, number>();
  return (chain) => ({
    onJudged({ height, hash, reason }) {
      judged.inc({ chain, reason });
      // A source may lie in every block: told at first and then ever more rarely; the counter has them all.
      const times = (judgements.get(`${chain} ${reason}`) ?? 0) + 1;
      judgements.set(`${chain} ${reason}`, times);
      if (Number.isInteger(Math.log2(times)))
        logger.warn('logs of a block not believed', { chain, height, hash, reason, times });
    },
  });
}
