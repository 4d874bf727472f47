import { bcs } from '@mysten/sui/bcs';
import { digestOf } from '../digest.ts';
import type { ExecutionFailure } from './execution-error.ts';
import type { SuiObject } from './object.ts';
import { refuse } from './refusal.ts';

export type TransactionData = (typeof bcs.TransactionData.$inferType)['V1'];
type Kinds = TransactionData['kind'];
export type Program = Extract<Kinds, { $kind: 'ProgrammableTransaction' }>['ProgrammableTransaction'];
export type ProgramInput = Program['inputs'][number];
export type Command = Program['commands'][number];
export type Argument = Extract<Command, { $kind: 'MergeCoins' }>['MergeCoins']['destination'];
export type ObjectReference = TransactionData['gasData']['payment'][number];

/** In MIST. */
export interface GasSummary {
  readonly computationCost: bigint;
  readonly storageCost: bigint;
  readonly storageRebate: bigint;
  readonly nonRefundableStorageFee: bigint;
}

export const NO_GAS: GasSummary = {
  computationCost: 0n,
  storageCost: 0n,
  storageRebate: 0n,
  nonRefundableStorageFee: 0n,
};

/** Negative for a net rebate. */
export function netGas(gas: GasSummary): bigint {
  return gas.computationCost + gas.storageCost - gas.storageRebate;
}

export type ObjectChange =
  | { readonly kind: 'created'; readonly id: string; readonly after: SuiObject }
  | { readonly kind: 'mutated'; readonly id: string; readonly before: SuiObject; readonly after: SuiObject }
  | { readonly kind: 'deleted'; readonly id: string; readonly before: SuiObject }
  /** Change of an address balance; `delta` is signed and `id` is the accumulator field's. */
  | {
      readonly kind: 'funds';
      readonly id: string;
      readonly address: string;
      readonly coinType: string;
      readonly delta: bigint;
    };

export interface BalanceChange {
  readonly address: string;
  readonly coinType: string;
  /** Base units, signed, never 0. */
  readonly amount: bigint;
}

export interface Outcome {
  readonly failure: ExecutionFailure | undefined;
  readonly epoch: bigint;
  readonly gas: GasSummary;
  readonly lamportVersion: bigint;
  /** Sorted by id. */
  readonly changes: readonly ObjectChange[];
  /** Undefined if an address balance paid, or no gas was paid. */
  readonly gasObjectId: string | undefined;
  readonly dependencies: readonly string[];
  readonly balanceChanges: readonly BalanceChange[];
  readonly effectsBytes: Uint8Array;
  readonly effectsDigest: string;
}

/** Executed transaction. `place` is set once a checkpoint contains it. */
export interface TransactionRecord {
  readonly digest: string;
  readonly bytes: Uint8Array;
  readonly data: TransactionData;
  /** Each is flag, signature and public key. */
  readonly signatures: readonly Uint8Array[];
  readonly outcome: Outcome;
  place: TransactionPlace | undefined;
}

export interface TransactionPlace {
  readonly checkpoint: number;
  readonly index: number;
  /** Number of earlier transactions of the chain. */
  readonly sequence: number;
}

export function parseTransaction(bytes: Uint8Array): TransactionData {
  try {
    return bcs.TransactionData.parse(bytes).V1;
  } catch (error) {
    return refuse('INVALID_ARGUMENT', `invalid transaction: ${String(error)}`);
  }
}

type TransactionInput = NonNullable<Parameters<typeof bcs.TransactionData.serialize>[0]['V1']>;

export function transactionBytes(data: TransactionInput): Uint8Array {
  return bcs.TransactionData.serialize({ V1: data }).toBytes();
}

export function transactionDigest(bytes: Uint8Array): string {
  return digestOf('TransactionData', bytes);
}

export function programOf(data: TransactionData): Program {
  if (data.kind.$kind === 'ProgrammableTransaction') return data.kind.ProgrammableTransaction;
  return refuse('INVALID_ARGUMENT', 'only programmable transactions can be sent');
}
