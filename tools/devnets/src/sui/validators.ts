import { bls12_381 } from '@noble/curves/bls12-381.js';
import { blake2b256 } from './digest.ts';
import { createBcsWriter } from './bcs-writer.ts';

export interface CommitteeMember {
  /** Compressed G2 point, 96 bytes. */
  readonly publicKey: Uint8Array;
  /** Voting power out of 10,000. */
  readonly weight: bigint;
}

export interface Certificate {
  readonly epoch: bigint;
  /** Compressed G1 point, 48 bytes. */
  readonly signature: Uint8Array;
  /** Roaring bitmap of the signers' committee indices. */
  readonly bitmap: Uint8Array;
}

/** BLS with minimal signature size, basic scheme (fastcrypto, bls12381::min_sig). */
const DOMAIN = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_';
/** IntentScope::CheckpointSummary, version 0, app Sui. */
const SUMMARY_INTENT = Uint8Array.of(2, 0, 0);
const VALIDATORS = 5;
const WEIGHT = 2_500n;
/** Cookie of a roaring bitmap without runs. */
const NO_RUNS = 12_346;

interface Validator extends CommitteeMember {
  readonly secretKey: Uint8Array;
}

let known: readonly Validator[] | undefined;

/** Created lazily, because most chains end no epoch. */
function validators(): readonly Validator[] {
  known ??= Array.from({ length: VALIDATORS }, (_, place) => {
    const secretKey = blake2b256(Buffer.from(`validator ${place} of the devnet`));
    secretKey[0] = 0; // below the order of the group
    const publicKey = bls12_381.shortSignatures.getPublicKey(secretKey).toBytes();
    return { secretKey, publicKey, weight: WEIGHT };
  });
  return known;
}

/** Four of five validators, which change each epoch, sorted by key. */
function seatedIn(epoch: bigint): readonly Validator[] {
  const absent = Number(epoch % BigInt(VALIDATORS));
  return validators()
    .filter((_, place) => place !== absent)
    .toSorted((a, b) => Buffer.compare(a.publicKey, b.publicKey));
}

export function committeeOf(epoch: bigint): readonly CommitteeMember[] {
  return seatedIn(epoch).map(({ publicKey, weight }) => ({ publicKey, weight }));
}

/** Signs a checkpoint summary with all but the first member of its epoch's committee. */
export function certify(summaryBytes: Uint8Array, epoch: bigint): Certificate {
  const { hash, sign, aggregateSignatures, Signature } = bls12_381.shortSignatures;
  const signers = seatedIn(epoch).slice(1);
  const signed = createBcsWriter().fixed(SUMMARY_INTENT).fixed(summaryBytes).u64(epoch).finish();
  const message = hash(signed, DOMAIN);
  const signature = aggregateSignatures(signers.map(({ secretKey }) => sign(message, secretKey)));
  const bitmap = createBcsWriter()
    .u32(NO_RUNS)
    .u32(1)
    .u16(0)
    .u16(signers.length - 1)
    .u32(16);
  for (const place of signers.keys()) bitmap.u16(place + 1);
  return { epoch, signature: Signature.toBytes(signature), bitmap: bitmap.finish() };
}
