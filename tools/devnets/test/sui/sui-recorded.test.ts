import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bcs } from '@mysten/sui/bcs';
import { expect, test } from 'vitest';
import { checkSignatures } from '../../src/sui/chain/check-signatures.ts';
import { checkTransaction } from '../../src/sui/chain/check-transaction.ts';
import { contentsBytes } from '../../src/sui/chain/close-checkpoint.ts';
import { outcomeOf } from '../../src/sui/chain/effects.ts';
import { execute } from '../../src/sui/chain/execute.ts';
import { clockObject, coinObject, type SuiObject } from '../../src/sui/chain/object.ts';
import {
  NO_GAS,
  parseTransaction,
  transactionDigest,
  type TransactionRecord,
} from '../../src/sui/chain/transaction.ts';
import { SUI_TYPE } from '../../src/sui/coin-type.ts';
import { digestOf } from '../../src/sui/digest.ts';
import { createGenesisChain, devTokenTypes } from '../../src/sui/genesis.ts';

// A checkpoint of a real network, byte for byte. Two of its transactions are executed again.
interface Recording {
  readonly summary: string;
  readonly contents: string;
  readonly prologue: Readonly<Record<'transaction' | 'effects' | 'input' | 'output', string>>;
  readonly transactions: readonly {
    readonly transaction: string;
    readonly signatures: readonly string[];
    readonly inputs: readonly string[];
    readonly effectsDigest: string;
    readonly effects?: string;
  }[];
}

const file = join(import.meta.dirname, '..', 'fixtures', 'sui-checkpoint-1137.json');
const recording = JSON.parse(readFileSync(file, 'utf8')) as Recording;

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, 'base64'));
}

const Digests = bcs.struct('ExecutionDigests', { transaction: bcs.ObjectDigest, effects: bcs.ObjectDigest });
const Contents = bcs.enum('CheckpointContents', {
  V1: bcs.struct('V1', {
    transactions: bcs.vector(Digests),
    signatures: bcs.vector(bcs.vector(bcs.byteVector())),
  }),
});
const contents = Contents.parse(bytesOf(recording.contents)).V1;

function readCoin(bytes: Uint8Array): SuiObject {
  const object = bcs.Object.parse(bytes);
  const move = object.data.Move;
  const owner = object.owner.AddressOwner;
  if (move === undefined || owner === undefined) throw new Error('no coin of an address');
  const body = Buffer.from(move.contents);
  return coinObject(
    {
      id: `0x${body.subarray(0, 32).toString('hex')}`,
      version: BigInt(move.version),
      owner: { kind: 'address', address: owner },
      previousTransaction: object.previousTransaction,
      storageRebateMist: BigInt(object.storageRebate),
    },
    SUI_TYPE,
    body.readBigUInt64LE(32),
  );
}

test.each(recording.transactions)('reproduces the recorded effects of a transaction', (recorded) => {
  const bytes = bytesOf(recorded.transaction);
  const data = parseTransaction(bytes);
  const digest = transactionDigest(bytes);
  const place = contents.transactions.find(({ transaction }) => transaction === digest);
  expect(place?.effects).toBe(recorded.effectsDigest);
  expect(() => checkSignatures(data, bytes, recorded.signatures.map(bytesOf))).not.toThrow();

  const chain = createGenesisChain({
    seed: 'recorded',
    accounts: [],
    tokens: devTokenTypes('recorded'),
    parameters: {
      referenceGasPrice: 1_000n,
      gaslessMinimums: new Map(),
      gaslessTransactionsPerCheckpoint: 0,
    },
    keepCheckpoints: 10,
  });
  for (const input of recorded.inputs.map(bytesOf)) {
    const coin = readCoin(input);
    expect(Buffer.from(coin.bytes)).toEqual(Buffer.from(input));
    chain.objects.set(coin.id, coin);
    chain.frameworkTransaction = coin.previousTransaction;
  }
  const outcome = execute(chain, checkTransaction(chain, data, bytes), digest);
  if (recorded.effects !== undefined) {
    expect(bcs.TransactionEffects.parse(outcome.effectsBytes)).toEqual(
      bcs.TransactionEffects.parse(bytesOf(recorded.effects)),
    );
  }
  expect(outcome.effectsDigest).toBe(recorded.effectsDigest);
});

test('reproduces a recorded prologue', () => {
  const { transaction, effects, input, output } = recording.prologue;
  const digest = transactionDigest(bytesOf(transaction));
  const before = bcs.Object.parse(bytesOf(input));
  const kind = parseTransaction(bytesOf(transaction)).kind;
  if (kind.$kind !== 'ConsensusCommitPrologueV4') throw new Error('no prologue');
  const timeBefore = Buffer.from(before.data.Move?.contents ?? []).readBigUInt64LE(32);
  const version = BigInt(before.data.Move?.version ?? 0);
  const clock = clockObject({ version, previousTransaction: before.previousTransaction }, Number(timeBefore));
  expect(Buffer.from(clock.bytes)).toEqual(Buffer.from(input, 'base64'));
  const time = Number(kind.ConsensusCommitPrologueV4.commitTimestampMs);
  const after = clockObject({ version: version + 1n, previousTransaction: digest }, time);
  expect(Buffer.from(after.bytes)).toEqual(Buffer.from(output, 'base64'));
  const outcome = outcomeOf({
    transactionDigest: digest,
    failure: undefined,
    epoch: 0n,
    gas: NO_GAS,
    lamportVersion: version + 1n,
    changes: [{ kind: 'mutated', id: after.id, before: clock, after }],
    gasObjectId: undefined,
    dependencies: [before.previousTransaction],
  });
  expect(Buffer.from(outcome.effectsBytes)).toEqual(Buffer.from(effects, 'base64'));
});

test('encodes and hashes recorded contents identically', () => {
  const records = contents.transactions.map(({ transaction, effects }, index) => ({
    digest: transaction,
    outcome: { effectsDigest: effects },
    signatures: (contents.signatures[index] ?? []).map((signature) => Uint8Array.from(signature)),
  }));
  const written = contentsBytes(records as unknown as TransactionRecord[]);
  expect(Buffer.from(written)).toEqual(Buffer.from(recording.contents, 'base64'));
  const Head = bcs.struct('Head', {
    epoch: bcs.u64(),
    number: bcs.u64(),
    total: bcs.u64(),
    content: bcs.ObjectDigest,
  });
  expect(digestOf('CheckpointContents', written)).toBe(Head.parse(bytesOf(recording.summary)).content);
});
