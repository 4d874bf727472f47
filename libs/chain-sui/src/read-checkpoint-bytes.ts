import type { BinaryReader } from '@protobuf-ts/runtime';
import { endOfInner, lengthTag, numberTag, readFields, readMessage } from './message-reader.ts';
import type {
  RawBytes,
  RawBalanceChange,
  RawCheckpoint,
  RawGas,
  RawTime,
  RawTransaction,
} from './raw-checkpoint.ts';

// Reads only the needed fields of a checkpoint. Catching up reads a hundred thousand transactions a second, and the
// SDK's reflection-based reader makes some twenty objects for each. Field numbers are those of sui.rpc.v2; a test
// compares this reader with the SDK's.

export function checkpointBytesIn(message: Uint8Array): Buffer | undefined {
  return readMessage(message, (reader, end) => {
    let found: Uint8Array | undefined;
    readFields(reader, end, (tag) => {
      if (tag !== lengthTag(1)) return false;
      found = reader.bytes();
      return true;
    });
    return found && Buffer.from(found.buffer, found.byteOffset, found.byteLength);
  });
}

const CHECKPOINT = {
  sequenceNumber: numberTag(1),
  digest: lengthTag(2),
  summary: lengthTag(3),
  contents: lengthTag(5),
  transactions: lengthTag(6),
} as const;

export function readCheckpointBytes(bytes: Uint8Array): RawCheckpoint {
  return readMessage(bytes, readCheckpoint);
}

function readCheckpoint(reader: BinaryReader, end: number): RawCheckpoint {
  let sequenceNumber: bigint | undefined;
  let digest: string | undefined;
  let summary: RawCheckpoint['summary'];
  let contents: RawCheckpoint['contents'];
  const transactions: RawTransaction[] = [];
  readFields(reader, end, (tag) => {
    if (tag === CHECKPOINT.transactions) transactions.push(readTransaction(reader, endOfInner(reader)));
    else if (tag === CHECKPOINT.sequenceNumber) sequenceNumber = reader.uint64().toBigInt();
    else if (tag === CHECKPOINT.digest) digest = reader.string();
    else if (tag === CHECKPOINT.summary) summary = readSummary(reader, endOfInner(reader));
    else if (tag === CHECKPOINT.contents) contents = { bcs: readBcs(reader, endOfInner(reader)) };
    else return false;
    return true;
  });
  return { sequenceNumber, digest, summary, contents, transactions };
}

/** Fields of both summary and contents: the BCS message, and its bytes. */
const BCS = { field: lengthTag(1), value: lengthTag(2) } as const;

function readBcs(reader: BinaryReader, end: number): RawBytes | undefined {
  let bcs: RawBytes | undefined;
  readFields(reader, end, (tag) => {
    if (tag !== BCS.field) return false;
    bcs = { value: readBytes(reader, endOfInner(reader)) };
    return true;
  });
  return bcs;
}

function readBytes(reader: BinaryReader, end: number): Uint8Array | undefined {
  let value: Uint8Array | undefined;
  readFields(reader, end, (tag) => {
    if (tag !== BCS.value) return false;
    value = reader.bytes();
    return true;
  });
  return value;
}

const SUMMARY = {
  epoch: numberTag(3),
  totalNetworkTransactions: numberTag(5),
  previousDigest: lengthTag(7),
  timestamp: lengthTag(9),
} as const;

function readSummary(reader: BinaryReader, end: number): RawCheckpoint['summary'] {
  let epoch: bigint | undefined;
  let totalNetworkTransactions: bigint | undefined;
  let previousDigest: string | undefined;
  let timestamp: RawTime | undefined;
  let bcs: RawBytes | undefined;
  readFields(reader, end, (tag) => {
    if (tag === SUMMARY.epoch) epoch = reader.uint64().toBigInt();
    else if (tag === SUMMARY.totalNetworkTransactions) totalNetworkTransactions = reader.uint64().toBigInt();
    else if (tag === SUMMARY.previousDigest) previousDigest = reader.string();
    else if (tag === SUMMARY.timestamp) timestamp = readTime(reader, endOfInner(reader));
    else if (tag === BCS.field) bcs = { value: readBytes(reader, endOfInner(reader)) };
    else return false;
    return true;
  });
  return { epoch, totalNetworkTransactions, previousDigest, timestamp, bcs };
}

const TIME = { seconds: numberTag(1), nanos: numberTag(2) } as const;

function readTime(reader: BinaryReader, end: number): RawTime {
  let seconds = 0n;
  let nanos = 0;
  readFields(reader, end, (tag) => {
    if (tag === TIME.seconds) seconds = reader.int64().toBigInt();
    else if (tag === TIME.nanos) nanos = reader.int32();
    else return false;
    return true;
  });
  return { seconds, nanos };
}

const EXECUTED = {
  digest: lengthTag(1),
  transaction: lengthTag(2),
  effects: lengthTag(4),
  balanceChanges: lengthTag(8),
} as const;

function readTransaction(reader: BinaryReader, end: number): RawTransaction {
  let digest: string | undefined;
  let transaction: RawTransaction['transaction'];
  let effects: RawTransaction['effects'];
  const balanceChanges: RawBalanceChange[] = [];
  readFields(reader, end, (tag) => {
    if (tag === EXECUTED.balanceChanges) balanceChanges.push(readChange(reader, endOfInner(reader)));
    else if (tag === EXECUTED.digest) digest = reader.string();
    else if (tag === EXECUTED.transaction) transaction = readSender(reader, endOfInner(reader));
    else if (tag === EXECUTED.effects) effects = readEffects(reader, endOfInner(reader));
    else return false;
    return true;
  });
  return { digest, transaction, effects, balanceChanges };
}

const TRANSACTION = { sender: lengthTag(5), gasPayment: lengthTag(6) } as const;
const GAS_PAYMENT = { owner: lengthTag(2) } as const;

function readSender(reader: BinaryReader, end: number): RawTransaction['transaction'] {
  let sender: string | undefined;
  let gasPayment: { readonly owner?: string | undefined } | undefined;
  readFields(reader, end, (tag) => {
    if (tag === TRANSACTION.sender) sender = reader.string();
    else if (tag === TRANSACTION.gasPayment) gasPayment = { owner: readOwner(reader, endOfInner(reader)) };
    else return false;
    return true;
  });
  return { sender, gasPayment };
}

function readOwner(reader: BinaryReader, end: number): string | undefined {
  let owner: string | undefined;
  readFields(reader, end, (tag) => {
    if (tag === GAS_PAYMENT.owner) owner = reader.string();
    else return false;
    return true;
  });
  return owner;
}

const EFFECTS = { status: lengthTag(4), gasUsed: lengthTag(6) } as const;
const STATUS = { success: numberTag(1) } as const;

function readEffects(reader: BinaryReader, end: number): RawTransaction['effects'] {
  let status: { readonly success?: boolean | undefined } | undefined;
  let gasUsed: RawGas | undefined;
  readFields(reader, end, (tag) => {
    if (tag === EFFECTS.status) status = { success: readSuccess(reader, endOfInner(reader)) };
    else if (tag === EFFECTS.gasUsed) gasUsed = readGas(reader, endOfInner(reader));
    else return false;
    return true;
  });
  return { status, gasUsed };
}

function readSuccess(reader: BinaryReader, end: number): boolean | undefined {
  let success: boolean | undefined;
  readFields(reader, end, (tag) => {
    if (tag === STATUS.success) success = reader.bool();
    else return false;
    return true;
  });
  return success;
}

const GAS = {
  computationCost: numberTag(1),
  storageCost: numberTag(2),
  storageRebate: numberTag(3),
} as const;

function readGas(reader: BinaryReader, end: number): RawGas {
  let computationCost: bigint | undefined;
  let storageCost: bigint | undefined;
  let storageRebate: bigint | undefined;
  readFields(reader, end, (tag) => {
    if (tag === GAS.computationCost) computationCost = reader.uint64().toBigInt();
    else if (tag === GAS.storageCost) storageCost = reader.uint64().toBigInt();
    else if (tag === GAS.storageRebate) storageRebate = reader.uint64().toBigInt();
    else return false;
    return true;
  });
  return { computationCost, storageCost, storageRebate };
}

const CHANGE = { address: lengthTag(1), coinType: lengthTag(2), amount: lengthTag(3) } as const;

function readChange(reader: BinaryReader, end: number): RawBalanceChange {
  let address: string | undefined;
  let coinType: string | undefined;
  let amount: string | undefined;
  readFields(reader, end, (tag) => {
    if (tag === CHANGE.address) address = reader.string();
    else if (tag === CHANGE.coinType) coinType = reader.string();
    else if (tag === CHANGE.amount) amount = reader.string();
    else return false;
    return true;
  });
  return { address, coinType, amount };
}
