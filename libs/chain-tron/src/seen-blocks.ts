import type { ReadBlock } from './read-block.ts';
import type { BlockRange } from './reading.ts';
import type { TronSource } from './tron-sources.ts';

/** What each source told of the newest blocks when they were read as seen, so that it need not be asked for them twice. */
export interface SeenBlocks {
  note(source: TronSource, blocks: readonly ReadBlock[]): void;
  /** All blocks of the range as the source told them; undefined where one is missing. What lies below the range is asked for no more. */
  toldBy(source: TronSource, range: BlockRange): readonly ReadBlock[] | undefined;
  /** Whether some source has told of just this block. */
  has(block: NamedBlock): boolean;
  /** The source has just named this block as its newest solid one. */
  noteSolid(source: TronSource, block: NamedBlock): void;
  /** Whether it was this one that it named last. */
  isSolid(source: TronSource, block: NamedBlock): boolean;
}

interface NamedBlock {
  readonly height: number;
  readonly hash: string;
}

interface Kept {
  readonly hash: string;
  /** Undefined where there was no room for it. */
  readonly told: ReadBlock | undefined;
}

/** So many of each source: those that are not solid yet are some twenty. */
const KEPT_BLOCKS = 40;
/** So many transfers and transactions of all sources together, some 500 bytes each: forty blocks of the main network. */
const KEPT_READINGS = 50_000;

/**
 * `isReadAgain`: whether what a source told is used once more. With one source alone nothing is, and hashes are all that is kept.
 * Where blocks are so full that not all have room, those that came first keep theirs: they are asked for first.
 */
export function createSeenBlocks({ isReadAgain }: { readonly isReadAgain: boolean }): SeenBlocks {
  const kept = new Map<TronSource, Map<number, Kept>>();
  const solid = new Map<TronSource, NamedBlock>();
  let isOverUpTo = -1;

  function forgetOld(newest: number, own: Map<number, Kept>): void {
    // Heights above are of a branch that is gone, or of a head that was made up.
    for (const height of own.keys())
      if (height > newest || height <= newest - KEPT_BLOCKS) own.delete(height);
    for (const blocks of kept.values())
      for (const [height, { hash, told }] of blocks)
        if (told !== undefined && height <= isOverUpTo) blocks.set(height, { hash, told: undefined });
  }

  return {
    note(source, blocks) {
      const own = kept.get(source) ?? new Map<number, Kept>();
      kept.set(source, own);
      forgetOld(blocks.at(-1)?.header.height ?? 0, own);
      for (const block of blocks.slice(-KEPT_BLOCKS)) own.delete(block.header.height);
      let room = isReadAgain ? KEPT_READINGS - readingsIn(kept) : 0;
      for (const block of blocks.slice(-KEPT_BLOCKS)) {
        room -= readingsOf(block);
        const { height, hash } = block.header;
        own.set(height, { hash, told: room >= 0 ? block : undefined });
      }
    },
    toldBy(source, { from, to }) {
      isOverUpTo = from - 1;
      const own = kept.get(source);
      const blocks: ReadBlock[] = [];
      for (let height = from; height <= to; height += 1) {
        const block = own?.get(height)?.told;
        if (block === undefined) return undefined;
        blocks.push(block);
      }
      return blocks;
    },
    noteSolid: (source, { height, hash }) => void solid.set(source, { height, hash }),
    isSolid: (source, { height, hash }) =>
      solid.get(source)?.height === height && solid.get(source)?.hash === hash,
    has: ({ height, hash }) => [...kept.values()].some((own) => own.get(height)?.hash === hash),
  };
}

function readingsOf({ transfers, owned }: ReadBlock): number {
  return transfers.length + owned.length;
}

function readingsIn(kept: ReadonlyMap<TronSource, ReadonlyMap<number, Kept>>): number {
  let sum = 0;
  for (const blocks of kept.values())
    for (const { told } of blocks.values()) if (told !== undefined) sum += readingsOf(told);
  return sum;
}
