import type { Clock } from '@opentill/runtime/clock';
import type { ScanNetwork } from './scan-network.ts';

const POLLS_PER_PERIOD = 4;

/**
 * While a head subscription works, only every fourth poll is made, in case it misses a head. After a silence of two
 * block times and a poll interval the subscription may be dead, and every poll is made.
 */
export function createPollPace(
  { blockTimeMs, pollIntervalMs }: Pick<ScanNetwork, 'blockTimeMs' | 'pollIntervalMs'>,
  clock: Clock,
) {
  const silentAfterMs = 2 * blockTimeMs + pollIntervalMs;
  let hintedAtMs = Number.NEGATIVE_INFINITY;
  let polledAtMs = Number.NEGATIVE_INFINITY;
  let isHinted = false;
  return {
    /** The subscription ended: every poll is made. */
    forget(): void {
      hintedAtMs = Number.NEGATIVE_INFINITY;
    },
    hinted(): void {
      hintedAtMs = clock.now().getTime();
      isHinted = true;
    },
    isDue(): boolean {
      const nowMs = clock.now().getTime();
      const isHintRecent = nowMs - hintedAtMs <= silentAfterMs && nowMs >= hintedAtMs;
      // A timer may fire early; the tolerance keeps the fourth poll from becoming the fifth.
      if (isHintRecent && !isHinted && nowMs - polledAtMs < (POLLS_PER_PERIOD - 0.5) * pollIntervalMs)
        return false;
      isHinted = false;
      polledAtMs = nowMs;
      return true;
    },
  };
}
