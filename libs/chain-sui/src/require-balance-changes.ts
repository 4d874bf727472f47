import type { GrpcTypes } from '@mysten/sui/grpc';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { TransactionWithoutChanges, SuiCheckpoint } from './decode-checkpoint.ts';
import { readTransactions, TRANSACTIONS_PER_CALL } from './read-transactions.ts';
import type { SuiSource } from './sui-sources.ts';

const OWNERS_MASK = ['digest', 'effects.status', 'effects.changed_objects', 'balance_changes'];
/** Nodes may write any number of leading zeros. */
const COIN = /^0x0*2::coin::Coin</;

export interface ShownChange {
  readonly height: number;
  readonly txHash: TxHash;
}

/**
 * Per source, ascending by height: the last shown change of each stretch that is being read. The head is read while
 * older checkpoints are caught up with.
 */
export type ShownChanges = WeakMap<SuiSource, readonly ShownChange[]>;

/** The head, catching up, reading again, and spare ones. */
const STRETCHES_MAX = 8;

/** Reads checkpoints below `height`, nearest first, and further ones at each call. Empty when there are no more. */
export type LookBack = (height: number) => Promise<readonly SuiCheckpoint[]>;

/**
 * A transaction without balance changes either changed no balance, or comes from a node without a balance-change
 * index. This function rules out the second case, and throws INCONSISTENT_ANSWER if it cannot.
 *
 * Such transactions are cheap to make: moving coins into the own address balance, giving away an empty coin, or
 * taking exactly the gas out of a shared object. They must not stop the reader.
 *
 * - A transaction without gas cost is accepted if its effects touch coins and balances of one owner only. A payment
 *   touches those of two.
 * - Any other one is accepted if the same node, in the same call, shows balance changes of another transaction.
 *   That one must be in the same or an older checkpoint, because an index may begin later. If none is remembered,
 *   `lookBack` finds one.
 *
 * A node that omits the changes of single transactions is not detected here; the second source shows the difference.
 *
 * @param checkpoints in any order
 * @param shownChanges remembers the changes that these checkpoints show
 */
export async function requireBalanceChanges(
  source: SuiSource,
  checkpoints: readonly SuiCheckpoint[],
  shownChanges: ShownChanges,
  options: ReadOptions,
  lookBack?: LookBack,
): Promise<void> {
  const before = shownChanges.get(source) ?? [];
  const shown = checkpoints.flatMap(changeShownBy).toSorted((a, b) => a.height - b.height);
  const newest = shown.at(-1);
  if (newest !== undefined) shownChanges.set(source, withNewest(before, newest));
  // A checkpoint that shows the changes of one transaction comes from a node with the index for it.
  const unproven = checkpoints.filter(
    ({ withChanges, withoutChanges }) => withChanges === undefined && withoutChanges.length > 0,
  );
  const withoutChanges = unproven.flatMap((checkpoint) => checkpoint.withoutChanges);
  if (withoutChanges.length === 0) return;
  const lowest = Math.min(...unproven.map(({ header }) => header.height));
  const isOlder = ({ height }: ShownChange): boolean => height < lowest;
  const known = shown.findLast(isOlder) ?? before.findLast(({ height }) => height <= lowest);
  const left = await withoutProof(source, withoutChanges, known?.txHash, options);
  if (left.length === 0) return;
  const found = (await lookBack?.(lowest))?.flatMap(changeShownBy).at(-1);
  if (found !== undefined) {
    shownChanges.set(source, withNewest(shownChanges.get(source) ?? [], found));
    if ((await withoutProof(source, left, found.txHash, options)).length === 0) return;
  }
  throw readerError('INCONSISTENT_ANSWER', 'the node leaves out balance changes', {
    txHash: left[0]?.txHash,
    lacksBalanceChanges: true,
  });
}

function changeShownBy({ header: { height }, withChanges: txHash }: SuiCheckpoint): readonly ShownChange[] {
  return txHash === undefined ? [] : [{ height, txHash }];
}

function withNewest(before: readonly ShownChange[], newest: ShownChange): readonly ShownChange[] {
  const lower = before.filter(({ height }) => height <= newest.height).slice(0, -1);
  const higher = before.filter(({ height }) => height > newest.height);
  return [...lower, newest, ...higher].slice(-STRETCHES_MAX);
}

/**
 * Each call also requests `known`, whose changes the node has shown: one node answers one call, even if several share
 * the URL.
 */
async function withoutProof(
  source: SuiSource,
  withoutChanges: readonly TransactionWithoutChanges[],
  known: TxHash | undefined,
  options: ReadOptions,
): Promise<readonly TransactionWithoutChanges[]> {
  const left: TransactionWithoutChanges[] = [];
  const atOnce = TRANSACTIONS_PER_CALL - (known === undefined ? 0 : 1);
  for (let at = 0; at < withoutChanges.length; at += atOnce) {
    const some = withoutChanges.slice(at, at + atOnce);
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

/** True if the changed coins and balances belong to at most one owner. False if the node returned no effects. */
export function movesOfOneOwner(effects: GrpcTypes.TransactionEffects | undefined): boolean {
  if (effects?.status === undefined) return false;
  return new Set(effects.changedObjects.flatMap(ownersOf)).size <= 1;
}

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
