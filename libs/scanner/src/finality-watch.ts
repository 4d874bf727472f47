import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import type { Clock } from '@opentill/runtime/clock';
import type { ScanNetwork } from './scan-network.ts';

/** How a chain's finality does. */
export interface FinalityView {
  /** For how long, up to the last look, the finalized height has not moved. Milliseconds. */
  readonly unmovedMs: number;
  readonly isStale: boolean;
}

/** Looks at the finalized height of a chain and remembers when it moved. */
export interface FinalityWatch {
  /**
   * The newest height that the chain calls final: never lower than `knownHeight`, never above the head, since a node
   * that names a higher one knows less than it says. Null where depth alone decides. Throws what the reader does;
   * FINALITY_UNAVAILABLE only while no fallback applies.
   */
  look(
    known: { readonly finalizedHeight: number | null; readonly headHeight: number },
    options: ReadOptions,
  ): Promise<number | null>;
  view(): FinalityView;
}

/**
 * Time counts from the first look of this process, so that a new replica waits its full time before it falls back;
 * and up to the last look, so that a process that slept takes nothing for stale before it has asked again.
 */
export function createFinalityWatch(deps: {
  readonly network: ScanNetwork;
  readonly reader: Pick<ChainReader, 'finalizedHeight'>;
  readonly clock: Clock;
}): FinalityWatch {
  const { network, reader, clock } = deps;
  const staleMs = (network.finality?.staleSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
  let lastHeight = -1;
  let movedAtMs: number | undefined;
  let lookedAtMs = 0;

  const view = (): FinalityView => {
    const unmovedMs = movedAtMs === undefined ? 0 : lookedAtMs - movedAtMs;
    return { unmovedMs, isStale: unmovedMs >= staleMs };
  };
  const noteLook = (height: number): void => {
    lookedAtMs = clock.now().getTime();
    if (height > lastHeight || movedAtMs === undefined) movedAtMs = lookedAtMs;
    lastHeight = Math.max(lastHeight, height);
  };

  return {
    view,
    async look({ finalizedHeight, headHeight }, options) {
      if (network.confirmations !== 'finalized') return null;
      let height = 0;
      try {
        height = Math.min(await reader.finalizedHeight(options), headHeight);
        noteLook(height);
      } catch (error) {
        noteLook(lastHeight);
        const mayFallBack = isReaderError(error, 'FINALITY_UNAVAILABLE') && view().isStale;
        if (!mayFallBack || network.finality?.fallbackDepth === undefined) throw error;
      }
      return Math.max(height, finalizedHeight ?? 0);
    },
  };
}
