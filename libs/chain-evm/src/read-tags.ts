import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { ALONE_AFTER_SECONDS } from '@opentill/contracts/network-config';
import { askTwoSources } from './ask-two-sources.ts';
import { blockRequest } from './block-requests.ts';
import { decodeHeader, plainHeader } from './decode.ts';
import type { EvmSource, EvmSources } from './sources.ts';

/** The newest block, of the source that is best or first to answer. */
export function readHead(sources: EvmSources, options: ReadOptions): Promise<BlockHeader> {
  return sources.run(
    async (source, runOptions) => {
      const [raw] = await source.batch([blockRequest('latest')], runOptions);
      return notedHead(sources, source, raw);
    },
    { ...options, hedge: true },
  );
}

function notedHead(sources: EvmSources, source: EvmSource, raw: unknown): BlockHeader {
  if (raw === null) throw readerError('BLOCK_NOT_FOUND', 'the node has no latest block');
  const head = plainHeader(decodeHeader(raw));
  sources.noteHead(source, head);
  return head;
}

/** One source's finalized block hangs far behind another's. */
export interface FinalityLag {
  /** Of the source that lags. */
  readonly source: string;
  readonly height: number;
  readonly lagSeconds: number;
}

interface Finalized extends BlockHeader {
  readonly source: EvmSource;
}

export interface FinalityDeps {
  readonly sources: EvmSources;
  /** A finalized block so much older than another source's is an alarm. */
  readonly staleSeconds: number;
  /** For so long on end it must be so before the other's counts. */
  readonly aloneAfterSeconds: number | 'never' | undefined;
  readonly nowMs: () => number;
  readonly epochSeconds: () => number;
  readonly onLag: (lag: FinalityLag) => void;
  readonly onAlone: (source: EvmSource) => void;
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
export function createFinalityReader(deps: FinalityDeps): (options: ReadOptions) => Promise<number> {
  const { sources, staleSeconds, nowMs, epochSeconds } = deps;
  const afterMs =
    deps.aloneAfterSeconds === 'never' ? Infinity : (deps.aloneAfterSeconds ?? ALONE_AFTER_SECONDS) * 1_000;
  const laggingSinceMs = new Map<EvmSource, number>();

  return async (options) => {
    const ask = (source: EvmSource, own: ReadOptions): Promise<Finalized> =>
      readFinalized(sources, source, own);
    const question = { ask, height: undefined, onAlone: deps.onAlone };
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
    return isLasting && (await hasBlock(lower.source, higher, options)) ? higher.height : lower.height;
  };
}

const FUTURE_SECONDS = 60;

async function readFinalized(
  sources: EvmSources,
  source: EvmSource,
  options: ReadOptions,
): Promise<Finalized> {
  const requests = [blockRequest('finalized'), blockRequest('latest')];
  const [finalized, latest] = await source.batch(requests, options);
  notedHead(sources, source, latest);
  if (finalized === null)
    throw readerError('FINALITY_UNAVAILABLE', 'the node has no finalized block', { endpoint: source.label });
  return { ...plainHeader(decodeHeader(finalized)), source };
}

async function hasBlock(
  source: EvmSource,
  { height, hash, timeSeconds }: BlockHeader,
  options: ReadOptions,
): Promise<boolean> {
  const [raw] = await source.batch([blockRequest(height)], options);
  if (raw === null) return false;
  const own = decodeHeader(raw);
  return own.height === height && own.hash === hash && own.timeSeconds === timeSeconds;
}
