import { bcs } from '@mysten/sui/bcs';
import { toBase58 } from '@mysten/sui/utils';
import type { EpochWindow } from '@opentill/chain/expiring-sender';
import type { TxHash } from '@opentill/chain/transfer';
import { createBLAKE2b } from 'hash-wasm';

/** A transaction as the chain's BCS has it. */
export type TransactionData = (typeof bcs.TransactionData.$inferType)['V1'];
type Program = Extract<
  TransactionData['kind'],
  { $kind: 'ProgrammableTransaction' }
>['ProgrammableTransaction'];
export type ProgramInput = Program['inputs'][number];
/** What `bcs` takes: as it reads, without the names of variants. */
export type NewTransaction = NonNullable<Parameters<typeof bcs.TransactionData.serialize>[0]['V1']>;
type NewKind = Extract<NewTransaction['kind'], { ProgrammableTransaction: unknown }>;
export type NewProgram = NonNullable<NewKind['ProgrammableTransaction']>;

/** Stands before the bytes of a transaction where its digest is made (crates/sui-types, `BcsSignable`). */
const DIGEST_SALT = Buffer.from('TransactionData::');
/** Scope TransactionData, version 0, application Sui: what a signature of a transaction is of. */
const INTENT = new Uint8Array([0, 0, 0]);

const blake2b = await createBLAKE2b(256);

/** What is stored and sent: the transaction and the signatures of all who have to sign it. */
const SignedBytes = bcs.struct('Signed', {
  transaction: bcs.byteVector(),
  signatures: bcs.vector(bcs.byteVector()),
});

/** Between which epochs a transaction may land, on which chain; `nonce` tells it apart from others that say the same. */
export function windowOf(
  chainId: string,
  { first, last }: EpochWindow,
  nonce: number,
): NewTransaction['expiration'] {
  const epochs = { minEpoch: first, maxEpoch: last, minTimestamp: null, maxTimestamp: null };
  return { ValidDuring: { ...epochs, chain: chainId, nonce } };
}

export interface SignedParts {
  readonly transaction: Uint8Array;
  /** Each: flag, signature, public key. */
  readonly signatures: readonly Uint8Array[];
}

export function encodeTransaction(data: NewTransaction): Uint8Array {
  return bcs.TransactionData.serialize({ V1: data }).toBytes();
}

/** Throws RangeError for bytes that are no transaction, or not as they are written. */
export function decodeTransactionBytes(bytes: Uint8Array): TransactionData {
  let data: TransactionData;
  try {
    data = bcs.TransactionData.parse(bytes).V1;
  } catch (cause) {
    throw new RangeError('not a transaction', { cause });
  }
  if (!Buffer.from(encodeTransaction(data)).equals(bytes)) throw new RangeError('not written as it is read');
  return data;
}

/** The digest that names a transaction, base58. */
export function digestOf(transaction: Uint8Array): TxHash {
  return toBase58(blake2b.init().update(DIGEST_SALT).update(transaction).digest('binary')) as TxHash;
}

/** What is signed of a transaction: a hash of 32 bytes. Keys of secp256k1 sign the SHA-256 of it. */
export function signingHashOf(transaction: Uint8Array): Uint8Array {
  return blake2b.init().update(INTENT).update(transaction).digest('binary');
}

export function encodeSigned({ transaction, signatures }: SignedParts): Uint8Array {
  return SignedBytes.serialize({ transaction, signatures: [...signatures] }).toBytes();
}

/** Throws RangeError for what `encodeSigned` has not made. */
export function decodeSigned(bytes: Uint8Array): SignedParts {
  let read: { transaction: Iterable<number>; signatures: Iterable<number>[] };
  try {
    read = SignedBytes.parse(bytes);
  } catch (cause) {
    throw new RangeError('not a signed transaction', { cause });
  }
  const parts = {
    transaction: Uint8Array.from(read.transaction),
    signatures: read.signatures.map((signature) => Uint8Array.from(signature)),
  };
  if (!Buffer.from(encodeSigned(parts)).equals(bytes)) throw new RangeError('not written as it is read');
  return parts;
}
