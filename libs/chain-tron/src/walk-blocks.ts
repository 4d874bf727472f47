import type { BlockHash } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { sealOf, type BlockSeal } from './block-seal.ts';
import { decodeHeader, type TronHeader } from './decode-block.ts';
import { readBlock, type BlockAccount } from './read-block.ts';
import type { Side } from './tron-client.ts';
import type { TronSource } from './tron-sources.ts';
import { createWitnessTrail, WINDOW_BLOCKS, type IsKeyOf, type WitnessTrail } from './witness-trail.ts';

type Asked = Pick<TronSource, 'call'>;
interface KnownBlock {
  readonly height: number;
  readonly hash: BlockHash;
}

const AT_ONCE = 8;
/** Must suffice to confirm a solid block: several rounds of the 27 witnesses. */
const CONFIRMING_BLOCKS_MAX = 128;

/**
 * Each block is linked to the one before and proven by the root in its header. BLOCK_NOT_FOUND at the end of the chain.
 */
export async function* walkSolidBlocks(
  source: Asked,
  after: KnownBlock,
  options: ReadOptions,
  to = Infinity,
): AsyncGenerator<BlockAccount, undefined, undefined> {
  const read = (height: number): Promise<BlockAccount> =>
    readBlock(source, 'walletsolidity', height, { ...options, withProof: true });
  yield* walk(read, after, to);
  return undefined;
}

/** The id of the known block proves the headers before it, from any source. */
export async function readTrail(
  source: Asked,
  known: KnownBlock,
  isKeyOf: IsKeyOf,
  options: ReadOptions,
): Promise<WitnessTrail> {
  return createWitnessTrail(await readWindow(source, known, options), isKeyOf);
}

export async function readWindow(
  source: Asked,
  { height, hash }: KnownBlock,
  options: ReadOptions,
): Promise<readonly BlockSeal[]> {
  const first = Math.max(1, height - WINDOW_BLOCKS + 1);
  const start = await readSealed(source, 'walletsolidity', first, options);
  const read = (at: number): Promise<Sealed> => readSealed(source, 'walletsolidity', at, options);
  const seals = [start.seal];
  let last = start.header;
  for await (const { header, seal } of walk(read, last, height)) {
    seals.push(seal);
    last = header;
  }
  if (last.hash !== hash)
    throw readerError('INCONSISTENT_ANSWER', 'the node has another block instead of the known one', {
      height,
    });
  return seals;
}

/**
 * Reads headers until the witnesses have confirmed the block at `height`. INCONSISTENT_ANSWER if other keys have
 * signed, BLOCK_NOT_FOUND if too few witnesses have signed yet.
 */
export async function confirmByWitnesses(
  source: Asked,
  trail: WitnessTrail,
  { last, height }: { readonly last: KnownBlock; readonly height: number },
  options: ReadOptions,
): Promise<void> {
  const read = (at: number): Promise<Sealed> => readSealed(source, 'wallet', at, options);
  const blocks = walk(read, last, last.height + CONFIRMING_BLOCKS_MAX);
  while (!trail.hasConfirmed(height)) {
    let next;
    try {
      next = await blocks.next();
    } catch (error) {
      if (!isReaderError(error, 'BLOCK_NOT_FOUND')) throw error;
    }
    if (next?.value === undefined)
      throw readerError(
        trail.hasForeign() ? 'INCONSISTENT_ANSWER' : 'BLOCK_NOT_FOUND',
        'too few known witnesses have signed the block and those after it',
        { height, ...trail.count(height) },
      );
    trail.add(next.value.seal);
  }
}

interface Sealed {
  readonly header: TronHeader;
  readonly seal: BlockSeal;
}

async function readSealed(source: Asked, side: Side, height: number, options: ReadOptions): Promise<Sealed> {
  const body = { id_or_num: `${height}`, detail: false };
  const raw = await source.call({ side, method: 'getblock', body, isQueued: true }, options);
  return { header: decodeHeader(raw, height), seal: sealOf(raw, height) };
}

async function* walk<T extends { readonly header: TronHeader }>(
  read: (height: number) => Promise<T>,
  after: KnownBlock,
  to: number,
): AsyncGenerator<T, undefined, undefined> {
  let { height, hash } = after;
  while (height < to) {
    const start = height + 1;
    const heights = Array.from({ length: Math.min(AT_ONCE, to - height) }, (_, place) => start + place);
    const reads = heights.map(read);
    // A missing block matters only if those before it were not enough.
    for (const block of await Promise.allSettled(reads)) {
      if (block.status === 'rejected') throw block.reason;
      const { header } = block.value;
      if (header.parentHash !== hash)
        throw readerError('INCONSISTENT_ANSWER', 'the blocks are not linked', { height: header.height });
      ({ height, hash } = header);
      yield block.value;
    }
  }
  return undefined;
}
