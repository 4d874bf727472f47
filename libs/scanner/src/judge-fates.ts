import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { OwnTransaction, TransactionFate } from '@opentill/chain/own-transaction';
import type { TxHash } from '@opentill/chain/transfer';
import { blockAt, seenBlock, type ChainState } from './chain-state.ts';

/**
 * Recorded outcome of a transaction that the gateway signed.
 * - MINED: in a stored block according to at least one source.
 * - VERIFIED: in a block at or below the verified cursor, according to two sources.
 * - ORPHANED: its block left the chain, or the verified chain lacks it. It may be mined again.
 * - no record: in no block yet.
 */
export interface RecordedFate extends Omit<TransactionFate, 'txHash'> {
  readonly state: 'MINED' | 'VERIFIED' | 'ORPHANED';
}

export interface OpenTransaction extends OwnTransaction {
  readonly signedAtSeconds: number;
  readonly fate: RecordedFate | undefined;
  /** The signer found that another transaction used its nonce. It is not expected in a block. */
  readonly isTaken?: boolean;
}

export type FateChange =
  | {
      readonly state: 'MINED' | 'VERIFIED';
      readonly fate: TransactionFate;
      /** Seconds since 1970. */
      readonly blockTimeSeconds: number;
    }
  | { readonly state: 'ORPHANED'; readonly txHash: TxHash };

/** 'none': both sources lack a receipt. 'disputed': they differ. */
export type VerifiedAnswer = TransactionFate | 'none' | 'disputed';

export interface FateAnswers {
  /** Receipts from one source. A missing entry means not found or not requested. */
  readonly seen: ReadonlyMap<TxHash, TransactionFate>;
  /** Answers of two sources, for the transactions they were asked about. */
  readonly verified: ReadonlyMap<TxHash, VerifiedAnswer>;
  /** Blocks that are not stored: for `seen` read from one source, for `verified` confirmed by two. */
  readonly otherBlocks: ReadonlyMap<BlockHash, BlockHeader>;
}

export interface JudgedFates {
  readonly changes: readonly FateChange[];
  /** Blocks of the changes that must be stored, so that their leaving the chain is noticed. */
  readonly blocks: readonly BlockHeader[];
  /** Left unchanged: two sources disagree, or the block differs from the stored one. */
  readonly waiting: readonly TxHash[];
}

/**
 * Decides the outcome of own transactions in the chain after a commit. With the answer of one source:
 *
 * | record                | receipt in a stored block | no receipt in stored blocks | block left the chain, no receipt |
 * |-----------------------|---------------------------|-----------------------------|----------------------------------|
 * | no record, ORPHANED   | MINED                     | unchanged                   | –                                |
 * | MINED                 | MINED in that block       | unchanged                   | ORPHANED                         |
 * | VERIFIED              | unchanged                 | unchanged                   | ORPHANED                         |
 *
 * At or below the verified height only the answers of two sources count. A receipt from both makes the transaction
 * VERIFIED, no receipt from both makes a MINED one ORPHANED, and a disagreement keeps it waiting. A transaction that
 * a reorganisation moved to another block is MINED there, even if it was VERIFIED.
 */
export function judgeFates(
  own: readonly OpenTransaction[],
  after: ChainState,
  answers: FateAnswers,
): JudgedFates {
  const changes: FateChange[] = [];
  const waiting: TxHash[] = [];
  const blocks = new Map<number, BlockHeader>();
  for (const transaction of own) {
    const { change, waits } = judge(transaction, after, answers);
    if (waits === true) waiting.push(transaction.txHash);
    if (change === undefined || isRecorded(change, transaction.fate)) continue;
    changes.push(change);
    const block = change.state === 'ORPHANED' ? undefined : answers.otherBlocks.get(change.fate.blockHash);
    if (block !== undefined && block.height >= (after.blocks[0]?.height ?? 0))
      blocks.set(block.height, block);
  }
  return { changes, blocks: [...blocks.values()], waiting };
}

interface Judgement {
  readonly change?: FateChange | undefined;
  readonly waits?: boolean;
}

function judge(
  { txHash, fate: recorded }: OpenTransaction,
  after: ChainState,
  { seen, verified, otherBlocks }: FateAnswers,
): Judgement {
  const orphaned: FateChange = { state: 'ORPHANED', txHash };
  const ifLost = recorded !== undefined && isLost(recorded, after) ? orphaned : undefined;
  const answer = verified.get(txHash);
  if (answer === 'disputed') return { change: ifLost, waits: true };
  if (answer === 'none') return { change: recorded?.state === 'MINED' ? orphaned : ifLost };
  if (answer !== undefined) {
    const block = storedBlock(after, answer) ?? otherBlocks.get(answer.blockHash);
    if (block !== undefined) return { change: foundIn(block, answer, after) };
    // Above the seen block the sources are ahead of the scanner.
    return { change: ifLost, waits: answer.blockHeight <= seenBlock(after).height };
  }
  const found = seen.get(txHash);
  const block = found && (storedBlock(after, found) ?? otherBlocks.get(found.blockHash));
  if (found === undefined || block === undefined || block.height <= after.verifiedHeight)
    return { change: ifLost };
  return { change: foundIn(block, found, after) };
}

function foundIn(block: BlockHeader, fate: TransactionFate, after: ChainState): FateChange {
  const state = block.height <= after.verifiedHeight ? 'VERIFIED' : 'MINED';
  return { state, fate, blockTimeSeconds: block.timeSeconds };
}

export function isLost(recorded: RecordedFate, state: ChainState): boolean {
  if (recorded.state === 'ORPHANED') return false;
  const oldestHeight = state.blocks[0]?.height ?? 0;
  // A block below the window was in the chain when it left the window. Above it, recorded blocks are stored.
  return recorded.blockHeight >= oldestHeight && storedBlock(state, recorded) === undefined;
}

function storedBlock(
  state: ChainState,
  named: { readonly blockHeight: number; readonly blockHash: BlockHash },
): BlockHeader | undefined {
  const stored = blockAt(state, named.blockHeight);
  return stored?.hash === named.blockHash ? stored : undefined;
}

function isRecorded(change: FateChange, recorded: RecordedFate | undefined): boolean {
  if (recorded?.state !== change.state) return false;
  if (change.state === 'ORPHANED') return true;
  const { fate } = change;
  return (
    fate.blockHash === recorded.blockHash &&
    fate.succeeded === recorded.succeeded &&
    fate.deliveredBaseUnits === recorded.deliveredBaseUnits &&
    fate.feeBaseUnits === recorded.feeBaseUnits
  );
}
