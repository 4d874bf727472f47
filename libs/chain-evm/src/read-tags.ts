import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
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

/** How one source's finalized block is left out of account: it names one this much older than another source's. */
export interface FinalityLag {
  /** Of the source that lags. */
  readonly source: string;
  readonly height: number;
  readonly lagSeconds: number;
}

/**
 * The lower finalized height of two sources: what one alone calls final may be of its own fork. A source whose
 * finalized block is more than `staleSeconds` older than the other's has stalled by itself, and must not hold
 * crediting for ever; then the other's counts, and `onLag` is told. When one has no answer, the other's counts too.
 */
export async function readFinalizedHeight(
  sources: EvmSources,
  staleSeconds: number,
  onLag: (lag: FinalityLag) => void,
  options: ReadOptions,
): Promise<number> {
  const asked = sources.usable().slice(0, 2);
  const answers = await Promise.allSettled(asked.map((source) => readFinalized(sources, source, options)));
  const named = answers
    .flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    .sort((a, b) => a.height - b.height);
  const [lower, higher] = named;
  if (lower === undefined) return readElsewhere(sources, answers, options);
  if (higher === undefined) return lower.height;
  const lagSeconds = higher.timeSeconds - lower.timeSeconds;
  if (lagSeconds <= staleSeconds) return lower.height;
  onLag({ source: lower.label, height: lower.height, lagSeconds });
  return higher.height;
}

async function readFinalized(
  sources: EvmSources,
  source: EvmSource,
  options: ReadOptions,
): Promise<BlockHeader & { readonly label: string }> {
  const requests = [blockRequest('finalized'), blockRequest('latest')];
  const [finalized, latest] = await source.batch(requests, options);
  notedHead(sources, source, latest);
  if (finalized === null)
    throw readerError('FINALITY_UNAVAILABLE', 'the node has no finalized block', { endpoint: source.label });
  return { ...plainHeader(decodeHeader(finalized)), label: source.label };
}

/** What a third source says, if there is one; otherwise that finality is stuck, if one of the two said so. */
async function readElsewhere(
  sources: EvmSources,
  answers: readonly PromiseSettledResult<unknown>[],
  options: ReadOptions,
): Promise<number> {
  const failures: readonly unknown[] = answers.flatMap((answer) =>
    answer.status === 'rejected' ? [answer.reason as unknown] : [],
  );
  const third = sources.usable()[2];
  if (third !== undefined) return (await readFinalized(sources, third, options)).height;
  throw failures.find((error) => isReaderError(error, 'FINALITY_UNAVAILABLE')) ?? failures[0];
}
