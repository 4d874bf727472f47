import { fromBase58 } from '@mysten/sui/utils';
import { createBcsWriter, type BcsWriter } from '../bcs-writer.ts';
import { balanceType, typeTagBytes } from '../coin-type.ts';
import { digestOf } from '../digest.ts';
import { writeStatus, type ExecutionFailure } from './execution-error.ts';
import { addressOfOwner, ownerBytes } from './object.ts';
import type { BalanceChange, GasSummary, ObjectChange, Outcome } from './transaction.ts';

export interface EffectsInput {
  readonly transactionDigest: string;
  readonly failure: ExecutionFailure | undefined;
  readonly epoch: bigint;
  readonly gas: GasSummary;
  readonly lamportVersion: bigint;
  readonly changes: readonly ObjectChange[];
  readonly gasObjectId: string | undefined;
  readonly dependencies: readonly string[];
}

const EFFECTS_V2 = 1;

export function outcomeOf(input: EffectsInput): Outcome {
  const changes = input.changes.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const dependencies = [...new Set(input.dependencies)].toSorted((a, b) =>
    Buffer.compare(fromBase58(a), fromBase58(b)),
  );
  const gasIndex = changes.findIndex(({ id }) => id === input.gasObjectId);
  const { gas } = input;
  const writer = createBcsWriter().u8(EFFECTS_V2);
  writeStatus(writer, input.failure);
  writer.u64(input.epoch);
  writer
    .u64(gas.computationCost)
    .u64(gas.storageCost)
    .u64(gas.storageRebate)
    .u64(gas.nonRefundableStorageFee);
  writer.digest(input.transactionDigest);
  writer.option(gasIndex < 0 ? undefined : gasIndex, (index) => writer.u32(index));
  writer.u8(0); // no events
  writer.vector(dependencies, (digest) => writer.digest(digest));
  writer.u64(input.lamportVersion);
  writer.vector(changes, (change) => writeChange(writer, change));
  const effectsBytes = writer.uleb(0).u8(0).finish(); // no unchanged shared objects, no auxiliary data
  return {
    failure: input.failure,
    epoch: input.epoch,
    gas,
    lamportVersion: input.lamportVersion,
    changes,
    gasObjectId: gasIndex < 0 ? undefined : input.gasObjectId,
    dependencies,
    balanceChanges: balanceChangesOf(changes),
    effectsBytes,
    effectsDigest: digestOf('TransactionEffects', effectsBytes),
  };
}

const ID_OPERATION = { none: 0, created: 1, deleted: 2 } as const;

function writeChange(writer: BcsWriter, change: ObjectChange): void {
  writer.address(change.id);
  if (change.kind === 'funds') {
    const { address, coinType, delta } = change;
    writer
      .u8(0)
      .u8(3)
      .address(address)
      .fixed(typeTagBytes(balanceType(coinType)));
    writer
      .u8(delta < 0n ? 1 : 0)
      .u8(0)
      .u64(delta < 0n ? -delta : delta)
      .u8(ID_OPERATION.none);
    return;
  }
  if (change.kind === 'created') writer.u8(0);
  else
    writer
      .u8(1)
      .u64(change.before.version)
      .digest(change.before.digest)
      .fixed(ownerBytes(change.before.owner));
  if (change.kind === 'deleted') {
    writer.u8(0).u8(ID_OPERATION.deleted);
    return;
  }
  writer.u8(1).digest(change.after.digest).fixed(ownerBytes(change.after.owner));
  writer.u8(change.kind === 'created' ? ID_OPERATION.created : ID_OPERATION.none);
}

/** Net change per address and coin type, over coins and address balances (derive_balance_changes_2). */
export function balanceChangesOf(changes: readonly ObjectChange[]): readonly BalanceChange[] {
  const sums = new Map<string, BalanceChange>();
  const add = (address: string, coinType: string, amount: bigint): void => {
    const key = `${address} ${coinType}`;
    sums.set(key, { address, coinType, amount: (sums.get(key)?.amount ?? 0n) + amount });
  };
  for (const change of changes) {
    if (change.kind === 'funds') {
      add(change.address, change.coinType, change.delta);
      continue;
    }
    for (const [object, sign] of [
      [change.kind === 'created' ? undefined : change.before, -1n],
      [change.kind === 'deleted' ? undefined : change.after, 1n],
    ] as const) {
      const address = object && addressOfOwner(object.owner);
      if (object?.coin !== undefined && address !== undefined) {
        add(address, object.coin.coinType, sign * object.coin.balance);
      }
    }
  }
  const sorted = [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([, change]) => change).filter(({ amount }) => amount !== 0n);
}
