import { bcs } from '@mysten/sui/bcs';
import { toBase58 } from '@mysten/sui/utils';
import type { EpochWindow } from '@opentill/chain/expiring-sender';
import type { TxHash } from '@opentill/chain/transfer';
import { createBLAKE2b } from 'hash-wasm';

export type TransactionData = (typeof bcs.TransactionData.$inferType)['V1'];
type Program = Extract<
  TransactionData['kind'],
  { $kind: 'ProgrammableTransaction' }
>['ProgrammableTransaction'];
export type ProgramInput = Program['inputs'][number];
export type NewTransaction = NonNullable<Parameters<typeof bcs.TransactionData.serialize>[0]['V1']>;
type NewKind = Extract<NewTransaction['kind'], { ProgrammableTransaction: unknown }>;
export type NewProgram = NonNullable<NewKind['ProgrammableTransaction']>;

/** Hashed before the transaction (crates/sui-types, `BcsSignable`). */
const DIGEST_SALT = Buffer.from('TransactionData::');
/** Scope TransactionData, version 0, application Sui. */
const INTENT = new Uint8Array([0, 0, 0]);

const blake2b = await createBLAKE2b(256);

/** The transaction and all required signatures, as stored. */
const SignedBytes = bcs.struct('Signed', {
  transaction: bcs.byteVector(),
  signatures: bcs.vector(bcs.byteVector()),
});

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
  readonly signatures: readonly Uint8Array[];
}

export function encodeTransaction(data: NewTransaction): Uint8Array {
  return bcs.TransactionData.serialize({ V1: data }).toBytes();
}

/** Throws RangeError unless the bytes are the canonical encoding of a transaction. */
export function decodeTransactionBytes(bytes: Uint8Array): TransactionData {
  let data: TransactionData;
  try {
    data = bcs.TransactionData.parse(bytes).V1;
  } catch (cause) {
    throw new RangeError('not a transaction', { cause });
  }
  if (!Buffer.from(encodeTransaction(data)).equals(bytes)) throw new RangeError('not a canonical encoding');
  return data;
}

export function digestOf(transaction: Uint8Array): TxHash {
  return toBase58(blake2b.init().update(DIGEST_SALT).update(transaction).digest('binary')) as TxHash;
}

/** A secp256k1 key signs the SHA-256 of these 32 bytes. */
export function signingHashOf(transaction: Uint8Array): Uint8Array {
  return blake2b.init().update(INTENT).update(transaction).digest('binary');
}

export function encodeSigned({ transaction, signatures }: SignedParts): Uint8Array {
  return SignedBytes.serialize({ transaction, signatures: [...signatures] }).toBytes();
}

/** Throws RangeError unless `encodeSigned` made the bytes. */
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
  if (!Buffer.from(encodeSigned(parts)).equals(bytes)) throw new RangeError('not a canonical encoding');
  return parts;
}
