import { hasFinalBlocks } from '@opentill/contracts/network-config';
import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import type { Clock } from '@opentill/runtime/clock';
import type { ScanNetwork } from './scan-network.ts';

export interface FinalityView {
  /** From the last poll. May be below the stored height, which only changes with the verified cursor. */
  readonly height?: number | undefined;
  /** Counted only while the height was polled. */
  readonly unmovedMs: number;
  readonly isStale: boolean;
}

export type FinalityWatch = ReturnType<typeof createFinalityWatch>;

/** A longer gap between two polls does not count as a stall. */
const POLL_GAP_MS_MIN = 90_000;
const POLL_GAP_POLLS = 6;

/**
 * Only time between answered polls counts. So neither a suspended process nor unreachable nodes make finality stale,
 * and a new replica waits the full time before it falls back.
 */
export function createFinalityWatch(deps: {
  readonly network: ScanNetwork;
  readonly reader: Pick<ChainReader, 'finalized'>;
  readonly clock: Clock;
}) {
  const { network, reader, clock } = deps;
  const staleMs = (network.finality?.staleSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
  const gapMsMax = Math.max(POLL_GAP_MS_MIN, POLL_GAP_POLLS * network.pollIntervalMs);
  let lastHeight = -1;
  let named: number | undefined;
  let unmovedMs = 0;
  let answeredAtMs: number | undefined;

  const view = (): FinalityView => ({ height: named, unmovedMs, isStale: unmovedMs >= staleMs });
  const noteAnswer = (height: number): void => {
    const nowMs = clock.now().getTime();
    const sinceMs = answeredAtMs === undefined ? 0 : nowMs - answeredAtMs;
    answeredAtMs = nowMs;
    if (height > lastHeight) unmovedMs = 0;
    else if (sinceMs > 0 && sinceMs <= gapMsMax) unmovedMs += sinceMs;
    lastHeight = Math.max(lastHeight, height);
  };

  return {
    view,
    forget(): void {
      named = undefined;
      lastHeight = -1;
      unmovedMs = 0;
      answeredAtMs = undefined;
    },
    /**
     * Never exceeds the head: a node that names a higher height is wrong. Decreases only for blocks that may change: the
     * tag `safe`. Null if only depth decides. FINALITY_UNAVAILABLE only while no fallback applies.
     * `answered`: the answer, if it was asked for already.
     */
    async look(
      {
        finalizedHeight,
        headHeight,
      }: { readonly finalizedHeight: number | null; readonly headHeight: number },
      options: ReadOptions,
      answered?: BlockHeader,
    ): Promise<number | null> {
      if (network.confirmations !== 'finalized') return null;
      let height = 0;
      try {
        height = Math.min((answered ?? (await reader.finalized(options))).height, headHeight);
        noteAnswer(height);
      } catch (error) {
        if (!isReaderError(error, 'FINALITY_UNAVAILABLE')) {
          answeredAtMs = undefined;
          throw error;
        }
        noteAnswer(lastHeight); // an answer without a finalized block is an answer
        if (!view().isStale || network.finality?.fallbackDepth === undefined) throw error;
      }
      named = hasFinalBlocks(network) ? Math.max(height, finalizedHeight ?? 0) : height;
      return named;
    },
  };
}
