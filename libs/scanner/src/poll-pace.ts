import type { Clock } from '@opentill/runtime/clock';
import type { ScanNetwork } from './scan-network.ts';

/** So many polls are left out, but for one, while a subscription tells of every block. */
const STRETCH = 4;

/**
 * Polling is what finds heads; a subscription only finds them earlier. While one tells of heads as fast as the chain
 * makes them, only every fourth poll is made, in case it misses some. Once it has been silent for two block times and
 * a poll, every poll is made again: it may be dead without knowing.
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
    /** A subscription reported a head: the next poll is due. */
    hinted(): void {
      hintedAtMs = clock.now().getTime();
      isHinted = true;
    },
    /** Whether to ask the node now. When it is, the time is noted. */
    isDue(): boolean {
      const nowMs = clock.now().getTime();
      const isTold = nowMs - hintedAtMs <= silentAfterMs && nowMs >= hintedAtMs;
      // A timer may come a little early: the fourth poll must not be left to the fifth.
      if (isTold && !isHinted && nowMs - polledAtMs < (STRETCH - 0.5) * pollIntervalMs) return false;
      isHinted = false;
      polledAtMs = nowMs;
      return true;
    },
  };
}
