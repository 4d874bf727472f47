import type { BlockHeader } from '@opentill/chain/block';
import { scanError } from './scan-error.ts';

export type HeadBlock = Pick<BlockHeader, 'height' | 'hash' | 'timeSeconds'>;

/** Cursor row and stored blocks. Immutable. */
export interface ChainState {
  /** Newest block known when the seen cursor last moved. Never below the seen block. */
  readonly head: HeadBlock;
  /** Highest final block among seen blocks. Null where blocks may change: a number of confirmations, and `safe`. */
  readonly finalizedHeight: number | null;
  /** Never above the seen block. */
  readonly verifiedHeight: number;
  /**
   * Ascending. The last is the seen block; the verified block is among them. Has gaps where a reader returns only some
   * blocks of a range.
   */
  readonly blocks: readonly BlockHeader[];
}

export interface ChainStep {
  readonly head: HeadBlock;
  readonly finalizedHeight: number | null;
  readonly verifiedHeight: number;
  /** Stored blocks above it are removed; equals the seen height if none are. Not below `verifiedHeight`. */
  readonly ancestorHeight: number;
  /**
   * Blocks above the ancestor. Also blocks below it that were not stored, or whose verified read differs from the seen
   * read although the hash is the same.
   */
  readonly newBlocks: readonly BlockHeader[];
  /** Heights of stored blocks at or below the ancestor that are not in the chain: of a branch that one source showed. */
  readonly dropped?: readonly number[];
}

export function seenBlock(state: ChainState): BlockHeader {
  const block = state.blocks.at(-1);
  if (block === undefined) throw scanError('STORED_CHAIN_BROKEN', 'the chain has no stored block');
  return block;
}

/** Undefined also for a block of the chain that is not stored. */
export function blockAt(state: Pick<ChainState, 'blocks'>, height: number): BlockHeader | undefined {
  const block = lastBlockUpTo(state, height);
  return block?.height === height ? block : undefined;
}

/** The block and the stored ones at its height and next to it, if any, can be of one chain. */
export function isLinked(
  state: Pick<ChainState, 'blocks'>,
  { height, hash, parentHash }: BlockHeader,
): boolean {
  return (
    (blockAt(state, height)?.hash ?? hash) === hash &&
    (blockAt(state, height - 1)?.hash ?? parentHash) === parentHash &&
    (blockAt(state, height + 1)?.parentHash ?? hash) === hash
  );
}

/** The highest stored block at or below the height. */
export function lastBlockUpTo(
  { blocks }: Pick<ChainState, 'blocks'>,
  height: number,
): BlockHeader | undefined {
  return blocks[firstAbove(blocks, height) - 1];
}

/** The lowest stored block at or above the height. */
export function firstBlockFrom({ blocks }: ChainState, height: number): BlockHeader | undefined {
  return blocks[firstAbove(blocks, height - 1)];
}

/** Place of the first block above the height. */
function firstAbove(blocks: readonly BlockHeader[], height: number): number {
  let [low, high] = [0, blocks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((blocks[middle]?.height ?? 0) > height) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function verifiedBlock(state: ChainState): BlockHeader {
  const block = blockAt(state, state.verifiedHeight);
  if (block === undefined) throw scanError('STORED_CHAIN_BROKEN', 'the verified block is not stored');
  return block;
}

/**
 * The highest block at or below the end of the window is kept, and none below it: every fork in the window is above it,
 * also where the blocks have gaps. A fork below it contradicts all stored blocks.
 */
export function applyStep(state: ChainState, step: ChainStep, reorgWindow: number): ChainState {
  const oldestHeight = step.verifiedHeight - reorgWindow;
  const dropped = new Set(step.dropped);
  const kept = new Map(
    state.blocks.flatMap((block) =>
      block.height <= step.ancestorHeight && !dropped.has(block.height)
        ? [[block.height, block] as const]
        : [],
    ),
  );
  for (const block of step.newBlocks) kept.set(block.height, block);
  const blocks = [...kept.values()].toSorted((a, b) => a.height - b.height);
  return checkState({
    head: step.head,
    finalizedHeight: step.finalizedHeight,
    verifiedHeight: step.verifiedHeight,
    blocks: blocks.slice(Math.max(0, firstAbove(blocks, oldestHeight) - 1)),
  });
}

/** Throws STORED_CHAIN_BROKEN if neighbours are not linked or a cursor is outside the blocks. */
export function checkState(state: ChainState): ChainState {
  const seen = seenBlock(state);
  verifiedBlock(state);
  if (state.head.height < seen.height) {
    throw scanError('STORED_CHAIN_BROKEN', 'the head is below the seen block', {
      head: state.head.height,
      seen: seen.height,
    });
  }
  state.blocks.forEach((block, place) => {
    const parent = state.blocks[place - 1];
    const isChild = parent?.height === block.height - 1;
    if (
      parent !== undefined &&
      (isChild ? block.parentHash !== parent.hash : parent.height >= block.height)
    ) {
      throw scanError('STORED_CHAIN_BROKEN', 'the stored blocks are not linked', {
        height: block.height,
        hash: block.hash,
      });
    }
  });
  return state;
}

export function unchangedStep(state: ChainState): ChainStep {
  const { head, finalizedHeight, verifiedHeight } = state;
  return { head, finalizedHeight, verifiedHeight, ancestorHeight: seenBlock(state).height, newBlocks: [] };
}
