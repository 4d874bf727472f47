import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { FatesRead, TransactionFate } from '@opentill/chain/own-transaction';
import type { TxHash } from '@opentill/chain/transfer';
import { GatewayError } from '@opentill/domain/gateway-error';
import { blockAt, isLinked, seenBlock, type ChainState } from './chain-state.ts';
import { isLost, type FateAnswers, type OpenTransaction, type VerifiedAnswer } from './judge-fates.ts';
import { readBelowVerified } from './read-below-verified.ts';
import type { Scanning } from './scanning.ts';

export interface FateMoment {
  readonly after: ChainState;
  readonly isReorganised: boolean;
  readonly isVerifying: boolean;
}

/** No recorded block contains the transaction, so any source may have newer information. */
export function isUnmined({ fate }: OpenTransaction, state: ChainState): boolean {
  return fate === undefined || fate.state === 'ORPHANED' || isLost(fate, state);
}

/** Transactions with taken nonces need two sources. */
export function needsOneSource(own: OpenTransaction, state: ChainState): boolean {
  return own.isTaken !== true && isUnmined(own, state);
}

/**
 * One source while transactions are in no block, two once they are deep enough. Two sources are also asked for
 * transactions with taken nonces and, when the verified cursor moves, for all unmined ones: this detects a source that
 * withholds a receipt. `early` is the answer of one source, if it was requested already.
 */
export async function askFates(
  { reader }: Pick<Scanning, 'reader'>,
  { after, isReorganised, isVerifying }: FateMoment,
  { open, early }: { readonly open: readonly OpenTransaction[]; readonly early: FatesRead | undefined },
  options: ReadOptions,
): Promise<FateAnswers> {
  const isKnown = early !== undefined || isVerifying;
  const forOneSource = isKnown ? [] : open.filter((own) => needsOneSource(own, after));
  const one =
    early ??
    (await reader.readFates(forOneSource, {
      ...options,
      byOneSource: true,
      // A payout that only moved to another block must not look lost because a node is behind.
      ...(isReorganised ? { atHeight: seenBlock(after).height } : {}),
    }));
  const seen = new Map(one.fates.map((fate) => [fate.txHash, fate]));
  const forTwoSources = open.filter(
    (own) =>
      own.isTaken === true ||
      isDeep(own, seen.get(own.txHash), after) ||
      (isVerifying && isUnmined(own, after)),
  );
  const two = await reader.readFates(forTwoSources, { ...options, atHeight: after.verifiedHeight });
  // Two sources agree on its time and parent, too.
  const readByTwo = async (height: number): Promise<BlockHeader | undefined> =>
    (await reader.readVerified(height, height, [], options)).headers.at(-1);
  const byTwo = await readOtherBlocks(two.fates, after, options, (height) =>
    height > after.verifiedHeight
      ? readByTwo(height)
      : readBelowVerified({ reader }, after, options, () => readByTwo(height)),
  );
  const aboveVerified = one.fates.filter(({ blockHeight }) => blockHeight > after.verifiedHeight);
  const readByOne = async (height: number): Promise<BlockHeader | undefined> =>
    (await reader.headers(height, height, options))[0];
  const otherBlocks = await readOtherBlocks(aboveVerified, after, options, readByOne, byTwo);
  return { seen, verified: answersOf(forTwoSources, two), otherBlocks };
}

/** At or below the verified height two sources must agree. */
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
 * Blocks of the chain that are not stored: older ones, and those in gaps. Returns them with the `known` ones, all of
 * which can be of one chain. If a block cannot be read, only its transactions wait.
 */
async function readOtherBlocks(
  fates: readonly TransactionFate[],
  after: ChainState,
  options: ReadOptions,
  read: (height: number) => Promise<BlockHeader | undefined>,
  known: FateAnswers['otherBlocks'] = new Map(),
): Promise<FateAnswers['otherBlocks']> {
  const wanted = new Map<BlockHash, number>();
  for (const { blockHash, blockHeight } of fates)
    if (blockHeight <= seenBlock(after).height && blockAt(after, blockHeight) === undefined)
      wanted.set(blockHash, blockHeight);
  const blocks = new Map(known);
  for (const [hash, height] of wanted) {
    if (blocks.has(hash)) continue;
    try {
      const block = await read(height);
      const found = [...blocks.values()].toSorted((a, b) => a.height - b.height);
      const isOfChain = block?.hash === hash && isLinked(after, block) && isLinked({ blocks: found }, block);
      if (isOfChain) blocks.set(hash, block);
    } catch (error) {
      if (options.signal?.aborted === true || !(error instanceof GatewayError)) throw error;
    }
  }
  return blocks;
}
