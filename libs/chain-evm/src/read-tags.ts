import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { Finalized } from '@opentill/chain-sources/read-finality';
import type { FinalityTag } from '@opentill/contracts/network-config';
import { blockRequest } from './block-requests.ts';
import { decodeHeader, plainHeader } from './decode.ts';
import type { EvmSource, EvmSources } from './sources.ts';

/** A source whose head is older is asked for it, to detect one that lags. */
const HEAD_KNOWN_MS = 5 * 60_000;

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

export async function readFinalized(
  sources: EvmSources,
  source: EvmSource,
  tag: FinalityTag,
  options: ReadOptions,
): Promise<Finalized<EvmSource>> {
  const isHeadKnown = sources.headShownMsAgo(source) <= HEAD_KNOWN_MS;
  const requests = [blockRequest(tag), ...(isHeadKnown ? [] : [blockRequest('latest')])];
  const [finalized, latest] = await source.batch(requests, options);
  if (!isHeadKnown) notedHead(sources, source, latest);
  if (finalized === null)
    throw readerError('FINALITY_UNAVAILABLE', `the node has no ${tag} block`, { endpoint: source.label });
  return { ...plainHeader(decodeHeader(finalized)), source };
}

export async function hasBlock(
  source: EvmSource,
  { height, hash, timeSeconds }: BlockHeader,
  options: ReadOptions,
): Promise<boolean> {
  const [raw] = await source.batch([blockRequest(height)], options);
  if (raw === null) return false;
  const own = decodeHeader(raw);
  return own.height === height && own.hash === hash && own.timeSeconds === timeSeconds;
}
