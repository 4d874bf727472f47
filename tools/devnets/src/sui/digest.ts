import { blake2b } from '@noble/hashes/blake2.js';
import { fromBase58, toBase58 } from '@mysten/sui/utils';
import { balanceType, typeTagBytes } from './coin-type.ts';
import { createBcsWriter } from './bcs-writer.ts';

/** Hash domains: the type name that precedes the hashed bytes (BcsSignable in crates/sui-types/src/crypto.rs). */
export type Hashed =
  'TransactionData' | 'TransactionEffects' | 'Object' | 'CheckpointSummary' | 'CheckpointContents';

const HASH = { dkLen: 32 } as const;
/** HashingIntentScope::RegularObjectId, for ids of new objects. */
const REGULAR_OBJECT_ID = 0xf1;
/** HashingIntentScope::ChildObjectId, for ids of dynamic fields. */
const CHILD_OBJECT_ID = 0xf0;
/** Object whose dynamic fields are the address balances. */
const ACCUMULATOR_ROOT = `0x${'0'.repeat(61)}acc`;
/** Intent of a signature: transaction data, version 0, app Sui. */
const TRANSACTION_INTENT = Uint8Array.of(0, 0, 0);

export function blake2b256(...parts: readonly Uint8Array[]): Uint8Array {
  return blake2b(Buffer.concat(parts), HASH);
}

export function digestOf(what: Hashed, bytes: Uint8Array): string {
  return toBase58(blake2b256(Buffer.from(`${what}::`), bytes));
}

export function hexOf(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}

export function objectIdOf(transactionDigest: string, index: number): string {
  const count = createBcsWriter().u64(index).finish();
  return hexOf(blake2b256(Uint8Array.of(REGULAR_OBJECT_ID), fromBase58(transactionDigest), count));
}

/** Id of the accumulator root's field that contains an address balance. */
export function accumulatorIdOf(address: string, coinType: string): string {
  const key = createBcsWriter().address(address).finish();
  const keyType = `0x2::accumulator::Key<${balanceType(coinType)}>`;
  const head = createBcsWriter().u8(CHILD_OBJECT_ID).address(ACCUMULATOR_ROOT).u64(key.length).fixed(key);
  return hexOf(blake2b256(head.fixed(typeTagBytes(keyType)).finish()));
}

export function addressOf(flag: number, publicKey: Uint8Array): string {
  return hexOf(blake2b256(Uint8Array.of(flag), publicKey));
}

export function signingHash(transactionBytes: Uint8Array): Uint8Array {
  return blake2b256(TRANSACTION_INTENT, transactionBytes);
}
