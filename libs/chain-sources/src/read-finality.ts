import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { ALONE_AFTER_SECONDS } from '@opentill/contracts/network-config';
import { askTwoSources } from './ask-two-sources.ts';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

const FUTURE_SECONDS = 60;

/** One source's finalized block hangs far behind another's. */
export interface FinalityLag {
  /** Of the source that lags. */
  readonly source: string;
  readonly height: number;
  readonly lagSeconds: number;
}

/** The block that one source calls final. */
export interface Finalized<S extends Source> extends BlockHeader {
  readonly source: S;
}

export interface FinalityDeps<S extends Source> {
  readonly sources: Sources<S>;
  /** Throws FINALITY_UNAVAILABLE where the source names none. Notes the source's head besides. */
  readonly readFinalized: (source: S, options: ReadOptions) => Promise<Finalized<S>>;
  /** Whether the source has just this block. */
  readonly hasBlock: (source: S, block: BlockHeader, options: ReadOptions) => Promise<boolean>;
  /** A finalized block so much older than another source's is an alarm. */
  readonly staleSeconds: number;
  /** For so long on end it must be so before the other's counts. */
  readonly aloneAfterSeconds: number | 'never' | undefined;
  readonly nowMs: () => number;
  readonly epochSeconds: () => number;
  readonly onLag: (lag: FinalityLag) => void;
  readonly onAlone: (source: S) => void;
}

/**
 * Makes the function that reads the finalized height: of two sources the lower, since what one alone calls final may be
 * of its own fork, or invented. One answer alone counts only of a source that may stand alone.
 *
 * A source whose finality stands while its chain moves on must not hold crediting for ever, nor be overruled by a word:
 * its answer is passed over when for `aloneAfterSeconds` on end it was more than `staleSeconds` behind the other's, and
 * it has itself the block that the other calls final, with the same hash and a time that can be. Then only finality
 * rests on one source, and never the blocks.
 */
export function createFinalityReader<S extends Source>(
  deps: FinalityDeps<S>,
): (options: ReadOptions) => Promise<number> {
  const { sources, staleSeconds, nowMs, epochSeconds } = deps;
  const afterMs =
    deps.aloneAfterSeconds === 'never' ? Infinity : (deps.aloneAfterSeconds ?? ALONE_AFTER_SECONDS) * 1_000;
  const laggingSinceMs = new Map<S, number>();

  return async (options) => {
    const question = { ask: deps.readFinalized, height: undefined, onAlone: deps.onAlone };
    const [{ answer: first }, other] = await askTwoSources(sources, question, options);
    if (other === undefined) return first.height;
    const [lower, higher] =
      first.height <= other.answer.height ? [first, other.answer] : [other.answer, first];
    laggingSinceMs.delete(higher.source);
    const lagSeconds = higher.timeSeconds - lower.timeSeconds;
    if (lagSeconds <= staleSeconds || higher.timeSeconds > epochSeconds() + FUTURE_SECONDS) {
      laggingSinceMs.delete(lower.source);
      return lower.height;
    }
    deps.onLag({ source: lower.source.label, height: lower.height, lagSeconds });
    const sinceMs = laggingSinceMs.get(lower.source) ?? nowMs();
    laggingSinceMs.set(lower.source, sinceMs);
    const isLasting = nowMs() - sinceMs >= afterMs;
    return isLasting && (await deps.hasBlock(lower.source, higher, options)) ? higher.height : lower.height;
  };
}
