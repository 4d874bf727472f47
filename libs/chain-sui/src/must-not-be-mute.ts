import type { GrpcTypes } from '@mysten/sui/grpc';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
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

/**
 * A transaction without gas that changes no balance is one by which somebody moves what is his between his coins and his address
 * balance, or whatever is no coin; or a payment of which the node, lacking the index of balance changes, does not tell. Its effects
 * tell: whoever pays another one takes a coin or a balance of one address, and writes one of another. But a coin that holds nothing is
 * given away like that as well, and whoever does it must not hold up the chain. So a node that in the same answer shows the changes
 * of another transaction has the index: what it shows none of has none. That it hides one, the other source tells. An index that began
 * after these checkpoints says nothing of them, so what was remembered of younger ones does not count; one that began within what was
 * read in one go is seen by what was paid for before, and shows no change. Throws INCONSISTENT_ANSWER for a node that leaves out changes.
 *
 * @param checkpoints read in one go, in whatever order
 * @param told what these checkpoints show is remembered there
 */
export async function mustNotBeMute(
  source: SuiSource,
  checkpoints: readonly SuiCheckpoint[],
  told: ToldChanges,
  options: ReadOptions,
): Promise<void> {
  const before = told.get(source) ?? [];
  const shown = checkpoints.flatMap(({ header: { height }, telling: txHash }) =>
    txHash === undefined ? [] : [{ height, txHash }],
  );
  const newest = shown.toSorted((a, b) => b.height - a.height)[0];
  if (newest !== undefined) told.set(source, withNewest(before, newest));
  // What a checkpoint shows of others it would show of these.
  const silent = checkpoints.filter(({ telling, mute }) => telling === undefined && mute.length > 0);
  const mute = silent.flatMap((checkpoint) => checkpoint.mute);
  if (mute.length === 0) return;
  const lowest = Math.min(...silent.map(({ header }) => header.height));
  const known = newest ?? before.findLast(({ height }) => height <= lowest);
  const atOnce = TRANSACTIONS_PER_CALL - (known === undefined ? 0 : 1);
  for (let at = 0; at < mute.length; at += atOnce)
    await mustHaveNone(source, mute.slice(at, at + atOnce), known?.txHash, options);
}

/** In the place of the one before it, which its stretch has come from. */
function withNewest(before: readonly ToldChange[], newest: ToldChange): readonly ToldChange[] {
  const lower = before.filter(({ height }) => height <= newest.height).slice(0, -1);
  const higher = before.filter(({ height }) => height > newest.height);
  return [...lower, newest, ...higher].slice(-STRETCHES_MAX);
}

/** Asked for in one call: what answers that is one node, whichever of them stand behind a URL. */
async function mustHaveNone(
  source: SuiSource,
  mute: readonly TxHash[],
  known: TxHash | undefined,
  options: ReadOptions,
): Promise<void> {
  const asked = known === undefined ? mute : [...mute, known];
  const executed = await readTransactions(source, asked, options, OWNERS_MASK);
  const hasIndex = known !== undefined && showsChanges(executed.at(-1));
  for (const [place, txHash] of mute.entries()) {
    const one = executed[place];
    const isKnownToHaveNone = hasIndex && one?.effects?.status !== undefined;
    if (!showsChanges(one) && (isKnownToHaveNone || movesOfOneOwner(one?.effects))) continue;
    throw readerError('INCONSISTENT_ANSWER', 'the node leaves out balance changes', {
      txHash,
      lacksBalanceChanges: true,
    });
  }
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
