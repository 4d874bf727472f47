import { hexOf, blake2b256 } from '../digest.ts';
import type { Chain } from '../chain/chain.ts';
import type { Checkpoint } from '../chain/checkpoint.ts';
import { balanceChangesOf, outcomeOf } from '../chain/effects.ts';
import { fundsChange } from '../chain/chain.ts';
import {
  parseTransaction,
  transactionBytes,
  transactionDigest,
  type TransactionRecord,
} from '../chain/transaction.ts';
import type { SuiFault } from './faults.ts';

/** Returns the same transaction on each request. */
export function inventPayment(
  chain: Chain,
  checkpoint: Checkpoint,
  fault: Extract<SuiFault, { kind: 'invent-payment' }>,
): TransactionRecord {
  const sender = hexOf(blake2b256(Buffer.from(`inventor of ${checkpoint.digest} ${fault.address}`)));
  const price = chain.parameters.referenceGasPrice;
  const bytes = transactionBytes({
    kind: { ProgrammableTransaction: { inputs: [], commands: [] } },
    sender,
    gasData: { payment: [], owner: sender, price, budget: 1_000n * price },
    expiration: { None: true },
  });
  const digest = transactionDigest(bytes);
  const changes = [
    fundsChange(fault.address, fault.coinType, fault.amountBaseUnits),
    fundsChange(sender, fault.coinType, -fault.amountBaseUnits),
  ];
  const computationCost = 1_000n * price;
  const outcome = outcomeOf({
    transactionDigest: digest,
    failure: undefined,
    epoch: checkpoint.epoch,
    gas: { computationCost, storageCost: 0n, storageRebate: 0n, nonRefundableStorageFee: 0n },
    lamportVersion: 1n,
    changes,
    gasObjectId: undefined,
    dependencies: [],
  });
  return {
    digest,
    bytes,
    data: parseTransaction(bytes),
    signatures: [new Uint8Array(97)],
    outcome: { ...outcome, balanceChanges: balanceChangesOf(changes) },
    place: {
      checkpoint: checkpoint.number,
      index: checkpoint.transactions.length,
      sequence: checkpoint.totalTransactions,
    },
  };
}
