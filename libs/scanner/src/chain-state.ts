import type { BlockHeader } from '@opentill/chain/block';
import { scanError } from './scan-error.ts';

/** A block as far as a cursor names it. */
export type HeadBlock = Pick<BlockHeader, 'height' | 'hash' | 'timeSeconds'>;

/** How far a chain is scanned: the row of its cursor and its stored blocks. Never changed, only replaced. */
export interface ChainState {
  /** The newest block known when the seen cursor moved last; never below it. */
  readonly head: HeadBlock;
  /** Height of the newest block the chain called final, of those that were seen; null where confirmations are a number. Never falls. */
  readonly finalizedHeight: number | null;
  /** Never above the seen block. */
  readonly verifiedHeight: number;
  /** The stored blocks, ascending without a gap; the last is the seen block, and the verified block is among them. */
  readonly blocks: readonly BlockHeader[];
}

/** How one commit moves a chain on. */
export interface ChainStep {
  readonly head: HeadBlock;
  readonly finalizedHeight: number | null;
  readonly verifiedHeight: number;
  /** Stored blocks above this height leave the chain; the seen height when there are none. Not below `verifiedHeight`. */
  readonly ancestorHeight: number;
  /** Follow the ancestor, linked. */
  readonly newBlocks: readonly BlockHeader[];
  /** Stored blocks, by the same hashes, that the verified read tells otherwise than one source did when they were seen. */
  readonly corrected?: readonly BlockHeader[];
}

/** The newest stored block. */
export function seenBlock(state: ChainState): BlockHeader {
  const block = state.blocks.at(-1);
  if (block === undefined) throw scanError('STORED_CHAIN_BROKEN', 'no stored block');
  return block;
}

/** The stored block at a height, or undefined outside of what is stored. */
export function blockAt(state: ChainState, height: number): BlockHeader | undefined {
  const base = state.blocks[0];
  return base === undefined ? undefined : state.blocks[height - base.height];
}

/** The block of the verified cursor. */
export function verifiedBlock(state: ChainState): BlockHeader {
  const block = blockAt(state, state.verifiedHeight);
  if (block === undefined) throw scanError('STORED_CHAIN_BROKEN', 'the verified block is not stored');
  return block;
}

/** The state after a step, with the blocks dropped that are more than `reorgWindow` below the verified block. */
export function takeStep(state: ChainState, step: ChainStep, reorgWindow: number): ChainState {
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

/** The same state, if it is one. Throws STORED_CHAIN_BROKEN when blocks are not linked or a cursor is outside of them. */
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

/** A step that changes nothing. */
export function standStill(state: ChainState): ChainStep {
  const { head, finalizedHeight, verifiedHeight } = state;
  return { head, finalizedHeight, verifiedHeight, ancestorHeight: seenBlock(state).height, newBlocks: [] };
}
