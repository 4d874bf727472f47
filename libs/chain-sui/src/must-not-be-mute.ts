import type { GrpcTypes } from '@mysten/sui/grpc';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { MuteTransaction, SuiCheckpoint } from './decode-checkpoint.ts';
import { readTransactions, TRANSACTIONS_PER_CALL } from './read-transactions.ts';
import type { SuiSource } from './sui-sources.ts';

const OWNERS_MASK = ['digest', 'effects.status', 'effects.changed_objects', 'balance_changes'];
/** However many zeros a node writes before the package. */
const COIN = /^0x0*2::coin::Coin</;

/** A transaction of which a source has shown changed balances, and the checkpoint that holds it. */
export interface ToldChange {
  readonly height: number;
  readonly txHash: TxHash;
}

/**
 * Of each source, by height: one for each stretch of the chain that is being read, since the head is read while old checkpoints are
 * caught up with.
 */
export type ToldChanges = WeakMap<SuiSource, readonly ToldChange[]>;

/** Stretches that are read at one moment: the head, what is caught up with, what is read again, and some to spare. */
const STRETCHES_MAX = 8;

/** Reads older checkpoints than `height`, the next ones first, and further ones each time; none where there are no more. */
export type LookBack = (height: number) => Promise<readonly SuiCheckpoint[]>;

/**
 * A transaction of which a node shows no change is one that has none, or one of which the node, lacking the index of balance changes,
 * does not tell. None has one by which somebody moves what is his between his coins and his address balance, by which a coin that holds
 * nothing is given away, or by which somebody takes just what it costs out of a shared object: whoever sends such must not hold up the
 * chain. Of one without gas its effects may tell: whoever pays another one takes a coin or a balance of one address, and writes one of
 * another. For all others speaks that the node shows the changes of another transaction: it has the index, and what it shows none of
 * has none. That it hides one, the other source tells. An index that began after these checkpoints says nothing of them, so the other
 * transaction is of the same checkpoint or of an older one, which is looked for where none is remembered. Throws INCONSISTENT_ANSWER
 * for a node that leaves out changes.
 *
 * @param checkpoints read in one go, in whatever order
 * @param told what these checkpoints show is remembered there
 */
export async function mustNotBeMute(
  source: SuiSource,
  checkpoints: readonly SuiCheckpoint[],
  told: ToldChanges,
  options: ReadOptions,
  lookBack?: LookBack,
): Promise<void> {
  const before = told.get(source) ?? [];
  const shown = checkpoints.flatMap(changeShownBy).toSorted((a, b) => a.height - b.height);
  const newest = shown.at(-1);
  if (newest !== undefined) told.set(source, withNewest(before, newest));
  // What a checkpoint shows of others it would show of these.
  const silent = checkpoints.filter(({ telling, mute }) => telling === undefined && mute.length > 0);
  const mute = silent.flatMap((checkpoint) => checkpoint.mute);
  if (mute.length === 0) return;
  const lowest = Math.min(...silent.map(({ header }) => header.height));
  const isOlder = ({ height }: ToldChange): boolean => height < lowest;
  const known = shown.findLast(isOlder) ?? before.findLast(({ height }) => height <= lowest);
  const left = await withoutProof(source, mute, known?.txHash, options);
  if (left.length === 0) return;
  const found = (await lookBack?.(lowest))?.flatMap(changeShownBy).at(-1);
  if (found !== undefined) {
    told.set(source, withNewest(told.get(source) ?? [], found));
    if ((await withoutProof(source, left, found.txHash, options)).length === 0) return;
  }
  throw readerError('INCONSISTENT_ANSWER', 'the node leaves out balance changes', {
    txHash: left[0]?.txHash,
    lacksBalanceChanges: true,
  });
}

function changeShownBy({ header: { height }, telling: txHash }: SuiCheckpoint): readonly ToldChange[] {
  return txHash === undefined ? [] : [{ height, txHash }];
}

/** In the place of the one before it, which its stretch has come from. */
function withNewest(before: readonly ToldChange[], newest: ToldChange): readonly ToldChange[] {
  const lower = before.filter(({ height }) => height <= newest.height).slice(0, -1);
  const higher = before.filter(({ height }) => height > newest.height);
  return [...lower, newest, ...higher].slice(-STRETCHES_MAX);
}

/**
 * Those of which it is not known that they change nothing. They are asked for in one call with the one that the node has shown changes
 * of: what answers that is one node, whichever of them stand behind a URL.
 */
async function withoutProof(
  source: SuiSource,
  mute: readonly MuteTransaction[],
  known: TxHash | undefined,
  options: ReadOptions,
): Promise<readonly MuteTransaction[]> {
  const left: MuteTransaction[] = [];
  const atOnce = TRANSACTIONS_PER_CALL - (known === undefined ? 0 : 1);
  for (let at = 0; at < mute.length; at += atOnce) {
    const some = mute.slice(at, at + atOnce);
    const asked = [...some.map(({ txHash }) => txHash), ...(known === undefined ? [] : [known])];
    const executed = await readTransactions(source, asked, options, OWNERS_MASK);
    const hasIndex = known !== undefined && showsChanges(executed.at(-1));
    left.push(
      ...some.filter(({ isFree }, place) => {
        const one = executed[place];
        if (showsChanges(one)) return true;
        return (
          !(hasIndex && one?.effects?.status !== undefined) && !(isFree && movesOfOneOwner(one?.effects))
        );
      }),
    );
  }
  return left;
}

function showsChanges(executed: GrpcTypes.ExecutedTransaction | undefined): boolean {
  return (executed?.balanceChanges.length ?? 0) > 0;
}

/** Whether nobody's money became another one's, by the effects. Without a status the node has not told of them. */
export function movesOfOneOwner(effects: GrpcTypes.TransactionEffects | undefined): boolean {
  if (effects?.status === undefined) return false;
  return new Set(effects.changedObjects.flatMap(ownersOf)).size <= 1;
}

/** Whose money it is, or was. */
function ownersOf({
  objectType,
  inputOwner,
  outputOwner,
  accumulatorWrite,
}: GrpcTypes.ChangedObject): readonly string[] {
  const isCoin = COIN.test(objectType ?? '');
  const owners = [...(isCoin ? [inputOwner?.address, outputOwner?.address] : []), accumulatorWrite?.address];
  return owners.filter((owner) => owner !== undefined);
}
