import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { askAgain } from '@opentill/chain-sources/ask-again';
import type { Finalized } from '@opentill/chain-sources/read-finality';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { plainHeader } from './decode-block.ts';
import type { HeaderChain } from './logs/header-chain.ts';
import type { SeenBlocks } from './seen-blocks.ts';
import type { TronSource, TronSources } from './tron-sources.ts';
import { readHeader } from './tron-sources.ts';

/** A source whose head is older is asked for it. */
const HEAD_KNOWN_MS = 10_000;

export interface Heads {
  readonly sources: TronSources;
  readonly chain: HeaderChain;
}

export async function readNotedHead(
  { sources, chain }: Heads,
  source: TronSource,
  options: ReadOptions,
): ReturnType<typeof readHeader> {
  const head = await readHeader(source, options);
  sources.noteHead(source, head);
  chain.note(source, head);
  return head;
}

/**
 * Unless the block is known, the source must return it by height too: a solid block counts from then on, so an invented
 * height, or one of a node that is switching, must not pass. Also reads the source's head now and then, to detect one
 * that hangs.
 */
export async function readSolid(
  { sources, seen, chain }: Heads & { readonly seen: SeenBlocks },
  source: TronSource,
  options: ReadOptions,
): Promise<Finalized<TronSource>> {
  try {
    const read = (height?: number): ReturnType<typeof readHeader> =>
      askAgain(() => readHeader(source, options, height, 'walletsolidity'), options);
    const isHeadKnown = sources.headShownMsAgo(source) <= HEAD_KNOWN_MS;
    const [solid] = await Promise.all([
      read(),
      isHeadKnown ? undefined : readNotedHead({ sources, chain }, source, options),
    ]);
    if (!seen.has(solid) && !chain.has(solid) && (await read(solid.height)).hash !== solid.hash)
      throw readerError(
        'INCONSISTENT_ANSWER',
        'the node returns another block at the height of its solid block',
        {
          height: solid.height,
        },
      );
    seen.noteSolid(source, solid);
    chain.noteSolid(source, solid);
    return { ...plainHeader(solid), source };
  } catch (error) {
    if (!isReaderError(error, 'BLOCK_NOT_FOUND')) throw error;
    throw readerError('FINALITY_UNAVAILABLE', 'the node has no solid block', { endpoint: source.label });
  }
}

export async function hasBlock(
  source: TronSource,
  { height, hash, timeSeconds }: Pick<Finalized<TronSource>, 'height' | 'hash' | 'timeSeconds'>,
  options: ReadOptions,
): Promise<boolean> {
  try {
    const own = await readHeader(source, options, height);
    return own.hash === hash && own.timeSeconds === timeSeconds;
  } catch (error) {
    if (isReaderError(error, 'BLOCK_NOT_FOUND')) return false;
    throw error;
  }
}

/** Between two of them, finality is not asked for: each verification takes three requests to each source. */
const POLLS_PER_FINALITY = 4;

/**
 * A block that becomes solid is then verified up to three polls later, together with the ones before. Not where polls are
 * more frequent than blocks: such a network is meant to be fast.
 */
export function everyFewPolls(
  {
    pollIntervalMs = 0,
    blockTimeMs,
  }: Pick<NetworkConfig, 'blockTimeMs'> & Partial<Pick<NetworkConfig, 'pollIntervalMs'>>,
  nowMs: () => number,
  read: (options: ReadOptions) => Promise<number>,
): ChainReader['finalizedHeight'] {
  const validMs = pollIntervalMs < blockTimeMs ? 0 : (POLLS_PER_FINALITY - 0.5) * pollIntervalMs;
  let known: { readonly height: number; readonly atMs: number } | undefined;
  return async (options = {}) => {
    if (known === undefined || nowMs() - known.atMs >= validMs)
      known = { atMs: nowMs(), height: await read(options) };
    return known.height;
  };
}
