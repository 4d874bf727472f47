import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import type { Clock } from '@opentill/runtime/clock';
import type { ScanNetwork } from './scan-network.ts';

/** How a chain's finality does. */
export interface FinalityView {
  /** For how long, as far as it was watched, the finalized height has not moved. Milliseconds. */
  readonly unmovedMs: number;
  readonly isStale: boolean;
}

export type FinalityWatch = ReturnType<typeof createFinalityWatch>;

/** Between two looks that are further apart nobody was watching: that time is no stall. */
const LOOKS_APART_MS_MIN = 90_000;
const LOOKS_APART_POLLS = 6;

/**
 * Looks at the finalized height of a chain and remembers when it moved.
 *
 * Time counts between looks that were answered, and from the first of them, so that a new replica waits its full time
 * before it falls back: neither a process that slept nor nodes that could not be asked make finality stale.
 */
export function createFinalityWatch(deps: {
  readonly network: ScanNetwork;
  readonly reader: Pick<ChainReader, 'finalizedHeight'>;
  readonly clock: Clock;
}) {
  const { network, reader, clock } = deps;
  const staleMs = (network.finality?.staleSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
  const apartMsMax = Math.max(LOOKS_APART_MS_MIN, LOOKS_APART_POLLS * network.pollIntervalMs);
  let lastHeight = -1;
  let unmovedMs = 0;
  let answeredAtMs: number | undefined;

  const view = (): FinalityView => ({ unmovedMs, isStale: unmovedMs >= staleMs });
  const noteAnswer = (height: number): void => {
    const nowMs = clock.now().getTime();
    const sinceMs = answeredAtMs === undefined ? 0 : nowMs - answeredAtMs;
    answeredAtMs = nowMs;
    if (height > lastHeight) unmovedMs = 0;
    else if (sinceMs > 0 && sinceMs <= apartMsMax) unmovedMs += sinceMs;
    lastHeight = Math.max(lastHeight, height);
  };

  return {
    view,
    /** Begins anew: another replica had the chain meanwhile, or will have it. */
    forget(): void {
      lastHeight = -1;
      unmovedMs = 0;
      answeredAtMs = undefined;
    },
    /**
     * The newest height that the chain calls final: never lower than the known one, never above the head, since a node that names a
     * higher one is wrong. Null where depth alone decides. Throws what the reader does; FINALITY_UNAVAILABLE only while no fallback applies.
     */
    async look(
      {
        finalizedHeight,
        headHeight,
      }: { readonly finalizedHeight: number | null; readonly headHeight: number },
      options: ReadOptions,
    ): Promise<number | null> {
      if (network.confirmations !== 'finalized') return null;
      let height = 0;
      try {
        height = Math.min(await reader.finalizedHeight(options), headHeight);
        noteAnswer(height);
      } catch (error) {
        if (!isReaderError(error, 'FINALITY_UNAVAILABLE')) {
          answeredAtMs = undefined;
          throw error;
        }
        noteAnswer(lastHeight); // that there is none is an answer
        if (!view().isStale || network.finality?.fallbackDepth === undefined) throw error;
      }
      return Math.max(height, finalizedHeight ?? 0);
    },
  };
}
