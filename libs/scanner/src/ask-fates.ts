import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { FatesRead, TransactionFate } from '@opentill/chain/own-transaction';
import type { TxHash } from '@opentill/chain/transfer';
import { GatewayError } from '@opentill/domain/gateway-error';
import { seenBlock, type ChainState } from './chain-state.ts';
import { isLost, type FateAnswers, type OpenTransaction, type VerifiedAnswer } from './judge-fates.ts';
import type { Scanning } from './scanning.ts';

/** The chain at the commit whose fates are asked for. */
export interface FateMoment {
  /** As it is after the commit. */
  readonly after: ChainState;
  /** Whether the commit takes blocks back. */
  readonly isReorganised: boolean;
  /** Whether the verified cursor moves. */
  readonly isVerifying: boolean;
}

/** Whether it is in no block of the chain, as far as is recorded: any source may know better. */
export function isUnmined({ fate }: OpenTransaction, state: ChainState): boolean {
  return fate === undefined || fate.state === 'ORPHANED' || isLost(fate, state);
}

/** Whether one source is asked for it as long as it is in no block: those of taken nonces are seldom asked for, and of two. */
export function isAskedOfOne(own: OpenTransaction, state: ChainState): boolean {
  return own.isTaken !== true && isUnmined(own, state);
}

/**
 * Asks what became of open transactions: one source for those that are in no block so far; two for those that are where
 * depth is reached, of those of taken nonces for all and, when the verified cursor moves, for all that are in no block,
 * so that a source which keeps a receipt back is found out. Nothing is asked of one that is mined and waits for depth. `early` is what one source said
 * already, if it did.
 */
export async function askFates(
  { reader }: Pick<Scanning, 'reader'>,
  { after, isReorganised, isVerifying }: FateMoment,
  { open, early }: { readonly open: readonly OpenTransaction[]; readonly early: FatesRead | undefined },
  options: ReadOptions,
): Promise<FateAnswers> {
  const isKnown = early !== undefined || isVerifying;
  const askedOfOne = isKnown ? [] : open.filter((own) => isAskedOfOne(own, after));
  const one =
    early ??
    (await reader.readFates(askedOfOne, {
      ...options,
      byOneSource: true,
      // A payout that only moved to another block must not look lost because a node is behind.
      ...(isReorganised ? { atHeight: seenBlock(after).height } : {}),
    }));
  const seen = new Map(one.fates.map((fate) => [fate.txHash, fate]));
  const askedOfTwo = open.filter(
    (own) =>
      own.isTaken === true ||
      isDeep(own, seen.get(own.txHash), after) ||
      (isVerifying && isUnmined(own, after)),
  );
  const two = await reader.readFates(askedOfTwo, { ...options, atHeight: after.verifiedHeight });
  const olderBlocks = await readOlderBlocks(reader, after, two.fates, options);
  return { seen, verified: answersOf(askedOfTwo, two), olderBlocks };
}

/** Whether it is, by what is recorded or by what one source says, where two have to be heard. */
function isDeep(own: OpenTransaction, seen: TransactionFate | undefined, state: ChainState): boolean {
  const height = isUnmined(own, state) ? seen?.blockHeight : own.fate?.blockHeight;
  return height !== undefined && height <= state.verifiedHeight;
}

function answersOf(
  asked: readonly OpenTransaction[],
  { fates, disputed }: FatesRead,
): ReadonlyMap<TxHash, VerifiedAnswer> {
  return new Map<TxHash, VerifiedAnswer>([
    ...asked.map(({ txHash }) => [txHash, 'none'] as const),
    ...disputed.map((txHash) => [txHash, 'disputed'] as const),
    ...fates.map((fate) => [fate.txHash, fate] as const),
  ]);
}

/**
 * The blocks of receipts that lie below all that is stored: of transactions that were mined long before anybody asked.
 * A block that can't be had leaves its transactions waiting, and no others.
 */
async function readOlderBlocks(
  reader: Scanning['reader'],
  after: ChainState,
  fates: readonly TransactionFate[],
  options: ReadOptions,
): Promise<FateAnswers['olderBlocks']> {
  const oldestHeight = after.blocks[0]?.height ?? 0;
  const wanted = new Map<BlockHash, number>();
  for (const { blockHash, blockHeight } of fates)
    if (blockHeight < oldestHeight) wanted.set(blockHash, blockHeight);
  const blocks = new Map<BlockHash, BlockHeader>();
  for (const [hash, height] of wanted) {
    try {
      const [block] = await reader.headers(height, height, options);
      if (block?.hash !== hash) continue;
      await reader.vouch(block, options);
      blocks.set(hash, block);
    } catch (error) {
      if (options.signal?.aborted === true || !(error instanceof GatewayError)) throw error;
    }
  }
  return blocks;
}
