import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { OwnTransaction, TransactionFate } from '@opentill/chain/own-transaction';
import type { TxHash } from '@opentill/chain/transfer';
import { blockAt, seenBlock, type ChainState } from './chain-state.ts';

/**
 * What is recorded of a transaction that the gateway signed. MINED: in a stored block, by one source's word at least.
 * VERIFIED: in a block at or below the verified cursor, by the word of two. ORPHANED: its block left the chain, or the
 * verified chain has no such transaction; it may be mined again. Without a record it was in no block yet.
 */
export interface RecordedFate extends Omit<TransactionFate, 'txHash'> {
  readonly state: 'MINED' | 'VERIFIED' | 'ORPHANED';
}

/** A transaction of the gateway's own that the chain has to be asked about. */
export interface OpenTransaction extends OwnTransaction {
  readonly signedAtSeconds: number;
  readonly fate: RecordedFate | undefined;
  /** Another's transaction used its nonce, as the signer found: it is not expected in a block any more. */
  readonly isTaken?: boolean;
}

/** What a commit writes of an own transaction. */
export type FateChange =
  | {
      readonly state: 'MINED' | 'VERIFIED';
      readonly fate: TransactionFate;
      /** Time of its block in whole seconds since 1970. */
      readonly blockTimeSeconds: number;
    }
  | { readonly state: 'ORPHANED'; readonly txHash: TxHash };

/** What two sources say of a transaction; 'none' where both have no receipt of it. */
export type VerifiedAnswer = TransactionFate | 'none' | 'disputed';

/** What the chain was asked about own transactions for one commit. */
export interface FateAnswers {
  /** By one source's word; what is not in it was not found, or not asked for: it makes no difference. */
  readonly seen: ReadonlyMap<TxHash, TransactionFate>;
  /** By the word of two, of those they were asked for. */
  readonly verified: ReadonlyMap<TxHash, VerifiedAnswer>;
  /** Blocks below all that is stored, which two sources named as the chain's. */
  readonly olderBlocks: ReadonlyMap<BlockHash, Pick<BlockHeader, 'height' | 'hash' | 'timeSeconds'>>;
}

export interface JudgedFates {
  readonly changes: readonly FateChange[];
  /** On which two sources differ, or which they place where the stored chain has another block: nothing is changed. */
  readonly waiting: readonly TxHash[];
}

/**
 * What becomes of own transactions in the chain as it is after a commit. In words:
 *
 * | recorded              | receipt in a stored block | in no stored block, or none | block left the chain, no receipt |
 * |-----------------------|---------------------------|-----------------------------|----------------------------------|
 * | nothing, or ORPHANED  | MINED                     | as it is                    | –                                |
 * | MINED                 | MINED, there              | as it is                    | ORPHANED                         |
 * | VERIFIED              | as it is                  | as it is                    | ORPHANED                         |
 *
 * and where two sources were asked, whose word alone counts at or below the verified height: a receipt there makes it
 * VERIFIED; that neither has one makes what was MINED there ORPHANED; where they differ it waits. A transaction whose
 * block left the chain but which is in another one moves there: one that was VERIFIED is MINED again.
 */
export function judgeFates(
  own: readonly OpenTransaction[],
  after: ChainState,
  answers: FateAnswers,
): JudgedFates {
  const changes: FateChange[] = [];
  const waiting: TxHash[] = [];
  for (const transaction of own) {
    const { change, waits } = judge(transaction, after, answers);
    if (change !== undefined && !isRecorded(change, transaction.fate)) changes.push(change);
    if (waits === true) waiting.push(transaction.txHash);
  }
  return { changes, waiting };
}

interface Judgement {
  readonly change?: FateChange | undefined;
  readonly waits?: boolean;
}

function judge(
  { txHash, fate: recorded }: OpenTransaction,
  after: ChainState,
  { seen, verified, olderBlocks }: FateAnswers,
): Judgement {
  const orphaned: FateChange = { state: 'ORPHANED', txHash };
  const ifLost = recorded !== undefined && isLost(recorded, after) ? orphaned : undefined;
  const answer = verified.get(txHash);
  if (answer === 'disputed') return { change: ifLost, waits: true };
  if (answer === 'none') return { change: recorded?.state === 'MINED' ? orphaned : ifLost };
  if (answer !== undefined) {
    const block = storedBlock(after, answer) ?? olderBlocks.get(answer.blockHash);
    if (block !== undefined) return { change: foundIn(block, answer, after) };
    // Above what was seen the sources are merely further than the scanner.
    return { change: ifLost, waits: answer.blockHeight <= seenBlock(after).height };
  }
  const found = seen.get(txHash);
  const block = found && storedBlock(after, found);
  // At or below the verified height one source's word makes nothing: two are asked there.
  if (found === undefined || block === undefined || block.height <= after.verifiedHeight)
    return { change: ifLost };
  return { change: foundIn(block, found, after) };
}

function foundIn(
  block: Pick<BlockHeader, 'height' | 'timeSeconds'>,
  fate: TransactionFate,
  after: ChainState,
): FateChange {
  const state = block.height <= after.verifiedHeight ? 'VERIFIED' : 'MINED';
  return { state, fate, blockTimeSeconds: block.timeSeconds };
}

/** Whether the chain does not have the block any more in which the transaction was recorded. */
export function isLost(recorded: RecordedFate, state: ChainState): boolean {
  if (recorded.state === 'ORPHANED') return false;
  const oldestHeight = state.blocks[0]?.height ?? 0;
  // What lies below the window was in the chain when it left the window.
  return recorded.blockHeight >= oldestHeight && storedBlock(state, recorded) === undefined;
}

/** The stored block that is named, undefined when another one is stored at its height, or none. */
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
