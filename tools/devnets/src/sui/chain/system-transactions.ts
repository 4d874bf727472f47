import { toBase58 } from '@mysten/sui/utils';
import { createBcsWriter } from '../bcs-writer.ts';
import { blake2b256 } from '../digest.ts';
import { clockOf, commitOutcome, fundsChange, type EmptyChain } from './chain.ts';
import { outcomeOf } from './effects.ts';
import { clockObject, type SuiObject } from './object.ts';
import {
  NO_GAS,
  parseTransaction,
  transactionBytes,
  transactionDigest,
  type ObjectChange,
  type TransactionRecord,
} from './transaction.ts';

const ZERO_ADDRESS = `0x${'0'.repeat(64)}`;
const ZERO_DIGEST = toBase58(new Uint8Array(32));
/** Signature placeholder of system transactions: the ed25519 flag and zeros. */
const NO_SIGNATURE = new Uint8Array(97);

type Kind = Parameters<typeof transactionBytes>[0]['kind'];

function systemTransactionBytes(kind: Kind): Uint8Array {
  return transactionBytes({
    kind,
    sender: ZERO_ADDRESS,
    gasData: {
      payment: [{ objectId: ZERO_ADDRESS, version: 0, digest: ZERO_DIGEST }],
      owner: ZERO_ADDRESS,
      price: 1,
      budget: 0,
    },
    expiration: { None: true },
  });
}

function systemRecord(
  chain: EmptyChain,
  bytes: Uint8Array,
  effects: {
    readonly changes: readonly ObjectChange[];
    readonly lamportVersion: bigint;
    readonly dependencies: readonly string[];
  },
): TransactionRecord {
  const digest = transactionDigest(bytes);
  const record: TransactionRecord = {
    digest,
    bytes,
    data: parseTransaction(bytes),
    signatures: [NO_SIGNATURE],
    outcome: outcomeOf({
      transactionDigest: digest,
      failure: undefined,
      epoch: chain.epoch.number,
      gas: NO_GAS,
      gasObjectId: undefined,
      ...effects,
    }),
    place: undefined,
  };
  commitOutcome(chain, record);
  return record;
}

/** First transaction of each consensus commit. It sets the clock. */
export function prologue(chain: EmptyChain, round: number, timestampMs: number): TransactionRecord {
  const bytes = systemTransactionBytes({
    ConsensusCommitPrologueV4: {
      epoch: chain.epoch.number,
      round,
      subDagIndex: null,
      commitTimestampMs: timestampMs,
      consensusCommitDigest: toBase58(
        blake2b256(Buffer.from(`consensus commit ${round} ${chain.lastPrologue}`)),
      ),
      consensusDeterminedVersionAssignments: { CancelledTransactionsV2: [] },
      additionalStateDigest: ZERO_DIGEST,
    },
  });
  const before = clockOf(chain);
  if (before === undefined) throw new Error('the chain has no clock');
  const version = before.version + 1n;
  const previousTransaction = transactionDigest(bytes);
  const after = clockObject({ version, previousTransaction }, timestampMs);
  const dependencies = [before.previousTransaction];
  const changes = [{ kind: 'mutated', id: before.id, before, after }] as const;
  const record = systemRecord(chain, bytes, { changes, lamportVersion: version, dependencies });
  chain.lastPrologue = record.digest;
  return record;
}

export interface GenesisFunds {
  readonly address: string;
  readonly coinType: string;
  readonly amount: bigint;
}

/** Creates the initial state without a sender. `make` receives the transaction's digest. */
export function genesisTransaction(
  chain: EmptyChain,
  make: (previousTransaction: string) => readonly SuiObject[],
  funds: readonly GenesisFunds[],
): TransactionRecord {
  const bytes = genesisBytes(make(ZERO_DIGEST));
  const created = make(transactionDigest(bytes));
  const changes: ObjectChange[] = [
    ...created.map((after) => ({ kind: 'created', id: after.id, after }) as const),
    ...funds.map(({ address, coinType, amount }) => fundsChange(address, coinType, amount)),
  ];
  return systemRecord(chain, bytes, { changes, lamportVersion: 1n, dependencies: [] });
}

const GENESIS_KIND = 2;
/** Genesis objects omit previous transaction and storage rebate, the last bytes of an object. */
const OBJECT_TRAILER_BYTES = 41;

function genesisBytes(objects: readonly SuiObject[]): Uint8Array {
  const writer = createBcsWriter().u8(0).u8(GENESIS_KIND);
  writer.vector(objects, ({ bytes }) => writer.u8(0).fixed(bytes.subarray(0, -OBJECT_TRAILER_BYTES)));
  writer.address(ZERO_ADDRESS).uleb(1).address(ZERO_ADDRESS).u64(0).digest(ZERO_DIGEST);
  return writer.address(ZERO_ADDRESS).u64(1).u64(0).u8(0).finish();
}
