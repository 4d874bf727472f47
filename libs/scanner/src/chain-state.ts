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
  /** Ascending, without gaps. The last is the seen block; the verified block is among them. */
  readonly blocks: readonly BlockHeader[];
}

export interface ChainStep {
  readonly head: HeadBlock;
  readonly finalizedHeight: number | null;
  readonly verifiedHeight: number;
  /** Stored blocks above it are removed; equals the seen height if none are. Not below `verifiedHeight`. */
  readonly ancestorHeight: number;
  /** Linked blocks above the ancestor. */
  readonly newBlocks: readonly BlockHeader[];
  /** Stored blocks whose verified read differs from the seen read although the hash is the same. */
  readonly corrected?: readonly BlockHeader[];
}

export function seenBlock(state: ChainState): BlockHeader {
  const block = state.blocks.at(-1);
  if (block === undefined) throw scanError('STORED_CHAIN_BROKEN', 'the chain has no stored block');
  return block;
}

export function blockAt(state: ChainState, height: number): BlockHeader | undefined {
  const base = state.blocks[0];
  return base === undefined ? undefined : state.blocks[height - base.height];
}

export function verifiedBlock(state: ChainState): BlockHeader {
  const block = blockAt(state, state.verifiedHeight);
  if (block === undefined) throw scanError('STORED_CHAIN_BROKEN', 'the verified block is not stored');
  return block;
}

export function applyStep(state: ChainState, step: ChainStep, reorgWindow: number): ChainState {
  const oldestKept = step.verifiedHeight - reorgWindow;
  const corrected = new Map(step.corrected?.map((block) => [block.height, block]));
  const kept = state.blocks
    .filter((block) => block.height <= step.ancestorHeight)
    .map((block) => corrected.get(block.height) ?? block);
  return checkState({
    head: step.head,
    finalizedHeight: step.finalizedHeight,
    verifiedHeight: step.verifiedHeight,
    blocks: [...kept, ...step.newBlocks].filter((block) => block.height >= oldestKept),
  });
}

/** Throws STORED_CHAIN_BROKEN if blocks are not linked or a cursor is outside them. */
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
    if (parent !== undefined && (block.parentHash !== parent.hash || block.height !== parent.height + 1)) {
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
