import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { ALONE_AFTER_SECONDS } from '@opentill/contracts/network-config';
import { askTwoSources } from './ask-two-sources.ts';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

const FUTURE_SECONDS = 60;

export interface FinalityLag {
  readonly source: string;
  readonly height: number;
  readonly lagSeconds: number;
}

export interface Finalized<S extends Source> extends BlockHeader {
  readonly source: S;
}

export interface FinalityDeps<S extends Source> {
  readonly sources: Sources<S>;
  /** FINALITY_UNAVAILABLE where the source reports none. */
  readonly readFinalized: (source: S, options: ReadOptions) => Promise<Finalized<S>>;
  readonly hasBlock: (source: S, block: BlockHeader, options: ReadOptions) => Promise<boolean>;
  /** A larger lag behind another source's finalized block raises an alarm. */
  readonly staleSeconds: number;
  /** The lag must last this long before the other source's answer counts. */
  readonly aloneAfterSeconds: number | 'never' | undefined;
  readonly nowMs: () => number;
  readonly epochSeconds: () => number;
  readonly onLag: (lag: FinalityLag) => void;
  readonly onSingleSource: (source: S) => void;
}

/**
 * With two sources the lower height counts: a single source may report a block of its own fork, or an invented one. A
 * single answer counts only where `acceptsSingle` permits it.
 *
 * A source whose finality stalls must not stop crediting permanently. Its answer is ignored when two conditions hold.
 * For `aloneAfterSeconds` it was more than `staleSeconds` behind the other's. And it has the other's finalized block
 * itself, with the same hash and a plausible time. So only finality rests on one source, never the blocks.
 */
export function createFinalityReader<S extends Source>(
  deps: FinalityDeps<S>,
): (options: ReadOptions) => Promise<BlockHeader> {
  const { sources, staleSeconds, nowMs, epochSeconds } = deps;
  const afterMs =
    deps.aloneAfterSeconds === 'never' ? Infinity : (deps.aloneAfterSeconds ?? ALONE_AFTER_SECONDS) * 1_000;
  const laggingSinceMs = new Map<S, number>();

  return async (options) => {
    const question = { ask: deps.readFinalized, height: undefined, onSingleSource: deps.onSingleSource };
    const [{ answer: first }, other] = await askTwoSources(sources, question, options);
    if (other === undefined) return plain(first);
    const [lower, higher] =
      first.height <= other.answer.height ? [first, other.answer] : [other.answer, first];
    laggingSinceMs.delete(higher.source);
    const lagSeconds = higher.timeSeconds - lower.timeSeconds;
    if (lagSeconds <= staleSeconds || higher.timeSeconds > epochSeconds() + FUTURE_SECONDS) {
      laggingSinceMs.delete(lower.source);
      return plain(lower);
    }
    deps.onLag({ source: lower.source.label, height: lower.height, lagSeconds });
    const sinceMs = laggingSinceMs.get(lower.source) ?? nowMs();
    laggingSinceMs.set(lower.source, sinceMs);
    const isLasting = nowMs() - sinceMs >= afterMs;
    return plain(isLasting && (await deps.hasBlock(lower.source, higher, options)) ? higher : lower);
  };
}

function plain({ height, hash, parentHash, timeSeconds }: BlockHeader): BlockHeader {
  return { height, hash, parentHash, timeSeconds };
}
