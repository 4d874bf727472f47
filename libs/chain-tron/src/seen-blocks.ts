import type { ReadBlock } from './read-block.ts';
import type { BlockRange } from './reading.ts';
import type { TronSource } from './tron-sources.ts';

/** Blocks that each source returned in the seen pass, so that it need not return them again. */
export interface SeenBlocks {
  note(source: TronSource, blocks: readonly ReadBlock[]): void;
  /** Undefined if a block of the range is missing. Frees blocks below the range. */
  blocksOf(source: TronSource, range: BlockRange): readonly ReadBlock[] | undefined;
  has(block: NamedBlock): boolean;
  noteSolid(source: TronSource, block: NamedBlock): void;
  /** True if this is the newest solid block of the source's last answer. */
  isSolid(source: TronSource, block: NamedBlock): boolean;
}

interface NamedBlock {
  readonly height: number;
  readonly hash: string;
}

interface Kept {
  readonly hash: string;
  readonly block: ReadBlock | undefined;
}

/** Blocks per source; about twenty are not solid yet. */
const KEPT_BLOCKS = 40;
/** Transfers and transactions of all sources together, about 500 bytes each: forty blocks of the main network. */
const KEPT_ENTRIES = 50_000;

/** Without `isReadAgain` (single source), only hashes are kept. The first blocks are kept, as they are needed first. */
export function createSeenBlocks({ isReadAgain }: { readonly isReadAgain: boolean }): SeenBlocks {
  const kept = new Map<TronSource, Map<number, Kept>>();
  const solid = new Map<TronSource, NamedBlock>();
  let freedUpTo = -1;

  function forgetOld(newest: number, own: Map<number, Kept>): void {
    // Blocks above are from a branch that was replaced, or from an invented head.
    for (const height of own.keys())
      if (height > newest || height <= newest - KEPT_BLOCKS) own.delete(height);
    for (const blocks of kept.values())
      for (const [height, { hash, block }] of blocks)
        if (block !== undefined && height <= freedUpTo) blocks.set(height, { hash, block: undefined });
  }

  return {
    note(source, blocks) {
      const own = kept.get(source) ?? new Map<number, Kept>();
      kept.set(source, own);
      forgetOld(blocks.at(-1)?.header.height ?? 0, own);
      for (const block of blocks.slice(-KEPT_BLOCKS)) own.delete(block.header.height);
      let room = isReadAgain ? KEPT_ENTRIES - entriesIn(kept) : 0;
      for (const block of blocks.slice(-KEPT_BLOCKS)) {
        room -= entriesOf(block);
        const { height, hash } = block.header;
        own.set(height, { hash, block: room >= 0 ? block : undefined });
      }
    },
    blocksOf(source, { from, to }) {
      freedUpTo = from - 1;
      const own = kept.get(source);
      const blocks: ReadBlock[] = [];
      for (let height = from; height <= to; height += 1) {
        const block = own?.get(height)?.block;
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

function entriesOf({ transfers, owned }: ReadBlock): number {
  return transfers.length + owned.length;
}

function entriesIn(kept: ReadonlyMap<TronSource, ReadonlyMap<number, Kept>>): number {
  let sum = 0;
  for (const blocks of kept.values())
    for (const { block } of blocks.values()) if (block !== undefined) sum += entriesOf(block);
  return sum;
}
