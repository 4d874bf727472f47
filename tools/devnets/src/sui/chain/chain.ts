import { accumulatorIdOf } from '../digest.ts';
import type { Checkpoint } from './checkpoint.ts';
import { addressOfOwner, CLOCK_ID, type SuiObject } from './object.ts';
import type { ChainParameters } from './parameters.ts';
import { NO_GAS, type GasSummary, type TransactionRecord } from './transaction.ts';

export interface CoinInfo {
  readonly coinType: string;
  readonly symbol: string;
  readonly name: string;
  readonly decimals: number;
  /** The issuer of a regulated coin, such as USDC, can deny addresses. */
  readonly regulated: boolean;
  readonly deniedAddresses: Set<string>;
  paused: boolean;
}

export interface OwnershipIndex {
  readonly objects: Map<string, Map<string, SuiObject>>;
  readonly funds: Map<string, bigint>;
}

export interface Epoch {
  readonly number: bigint;
  readonly startMs: number;
  readonly firstCheckpoint: number;
  gas: GasSummary;
}

export interface PastEpoch extends Epoch {
  readonly lastCheckpoint: number;
  readonly endMs: number;
}

/** Complete state of a chain. Only submit.ts and close-checkpoint.ts change it. */
export interface Chain {
  readonly id: string;
  readonly parameters: ChainParameters;
  readonly coins: Map<string, CoinInfo>;
  readonly objects: Map<string, SuiObject>;
  readonly objectVersions: Map<string, SuiObject>;
  readonly funds: Map<string, bigint>;
  /** State that nodes report as coins and balances. Updated with each checkpoint. */
  readonly index: OwnershipIndex;
  readonly transactions: Map<string, TransactionRecord>;
  readonly checkpoints: Map<number, Checkpoint>;
  readonly keepCheckpoints: number;
  lowestCheckpoint: number;
  head: Checkpoint;
  epoch: Epoch;
  readonly pastEpochs: PastEpoch[];
  /** Executed transactions of the next checkpoint, in order. */
  pending: TransactionRecord[];
  readonly listeners: Set<(checkpoint: Checkpoint) => void>;
  /** Owned object references that wait in consensus, and the transaction that uses each. */
  readonly locks: Map<string, string>;
  readonly submissions: Map<string, Promise<TransactionRecord>>;
  /** Consensus waits until it resolves. Undefined while consensus is not held back. */
  held: Promise<void> | undefined;
  /** Digest of the previous prologue, on which the next one depends. */
  lastPrologue: string;
  /** Transaction that created the framework package. Every call of the framework depends on it. */
  frameworkTransaction: string;
}

export type EmptyChain = Omit<Chain, 'id' | 'head'>;

export function emptyChain(
  parameters: ChainParameters,
  coins: readonly CoinInfo[],
  keepCheckpoints: number,
): EmptyChain {
  return {
    parameters,
    coins: new Map(coins.map((coin) => [coin.coinType, coin])),
    objects: new Map(),
    objectVersions: new Map(),
    funds: new Map(),
    index: { objects: new Map(), funds: new Map() },
    transactions: new Map(),
    checkpoints: new Map(),
    keepCheckpoints,
    lowestCheckpoint: 0,
    epoch: { number: 0n, startMs: 0, firstCheckpoint: 0, gas: NO_GAS },
    pastEpochs: [],
    pending: [],
    listeners: new Set(),
    locks: new Map(),
    submissions: new Map(),
    held: undefined,
    lastPrologue: '',
    frameworkTransaction: '',
  };
}

export function fundsKey(address: string, coinType: string): string {
  return `${address} ${coinType}`;
}

export function versionKey(id: string, version: bigint): string {
  return `${id} ${version}`;
}

export function fundsOf(funds: ReadonlyMap<string, bigint>, address: string, coinType: string): bigint {
  return funds.get(fundsKey(address, coinType)) ?? 0n;
}

function changeFunds(funds: Map<string, bigint>, key: string, delta: bigint): void {
  const left = (funds.get(key) ?? 0n) + delta;
  if (left === 0n) funds.delete(key);
  else funds.set(key, left);
}

export function commitOutcome(chain: EmptyChain, record: TransactionRecord): void {
  for (const change of record.outcome.changes) {
    if (change.kind === 'funds') {
      changeFunds(chain.funds, fundsKey(change.address, change.coinType), change.delta);
    } else if (change.kind === 'deleted') {
      chain.objects.delete(change.id);
    } else {
      chain.objects.set(change.id, change.after);
      chain.objectVersions.set(versionKey(change.id, change.after.version), change.after);
    }
  }
  chain.transactions.set(record.digest, record);
}

export function indexOutcomes(index: OwnershipIndex, records: readonly TransactionRecord[]): void {
  for (const { outcome } of records) {
    for (const change of outcome.changes) {
      if (change.kind === 'funds') {
        changeFunds(index.funds, fundsKey(change.address, change.coinType), change.delta);
        continue;
      }
      if (change.kind !== 'created') unindex(index, change.before);
      if (change.kind !== 'deleted') enter(index, change.after);
    }
  }
}

function unindex(index: OwnershipIndex, object: SuiObject): void {
  const owner = addressOfOwner(object.owner);
  const owned = owner === undefined ? undefined : index.objects.get(owner);
  owned?.delete(object.id);
  if (owner !== undefined && owned?.size === 0) index.objects.delete(owner);
}

function enter(index: OwnershipIndex, object: SuiObject): void {
  const owner = addressOfOwner(object.owner);
  if (owner === undefined) return;
  const owned = index.objects.get(owner);
  if (owned === undefined) index.objects.set(owner, new Map([[object.id, object]]));
  else owned.set(object.id, object);
}

/** Deletes checkpoints below a number, their transactions and the object versions that these replaced. */
export function pruneBelow(chain: EmptyChain, lowest: number): void {
  for (let number = chain.lowestCheckpoint; number < lowest; number++) {
    const checkpoint = chain.checkpoints.get(number);
    if (checkpoint === undefined) continue;
    for (const { digest, outcome } of checkpoint.transactions) {
      chain.transactions.delete(digest);
      for (const change of outcome.changes) {
        if (change.kind === 'mutated' || change.kind === 'deleted') {
          chain.objectVersions.delete(versionKey(change.id, change.before.version));
        }
      }
    }
    chain.checkpoints.delete(number);
  }
  chain.lowestCheckpoint = Math.max(chain.lowestCheckpoint, lowest);
}

export function clockOf(chain: EmptyChain): SuiObject | undefined {
  return chain.objects.get(CLOCK_ID);
}

export function fundsChange(
  address: string,
  coinType: string,
  delta: bigint,
): { kind: 'funds'; id: string; address: string; coinType: string; delta: bigint } {
  return { kind: 'funds', id: accumulatorIdOf(address, coinType), address, coinType, delta };
}
