import { bls12_381 } from '@noble/curves/bls12-381.js';
import { blake2b256 } from './digest.ts';
import { createBcsWriter } from './bcs-writer.ts';

/** A validator as a committee names it. */
export interface CommitteeMember {
  /** A compressed point of G2, 96 bytes. */
  readonly publicKey: Uint8Array;
  /** Votes of 10,000. */
  readonly weight: bigint;
}

/** What certifies a checkpoint: the signatures of a quorum as one, and whose they are. */
export interface Certificate {
  readonly epoch: bigint;
  /** A compressed point of G1, 48 bytes. */
  readonly signature: Uint8Array;
  /** A roaring bitmap of places in the committee. */
  readonly bitmap: Uint8Array;
}

/** Minimal-signature-size BLS, basic scheme (crates/fastcrypto, bls12381::min_sig). */
const DOMAIN = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_';
/** IntentScope::CheckpointSummary, version 0, app Sui. */
const SUMMARY_INTENT = Uint8Array.of(2, 0, 0);
const VALIDATORS = 5;
const WEIGHT = 2_500n;
/** The first bytes of a roaring bitmap without runs. */
const NO_RUNS = 12_346;

interface Validator extends CommitteeMember {
  readonly secretKey: Uint8Array;
}

let known: readonly Validator[] | undefined;

/** Made when one is needed first: most chains end no epoch. */
function validators(): readonly Validator[] {
  known ??= Array.from({ length: VALIDATORS }, (_, place) => {
    const secretKey = blake2b256(Buffer.from(`validator ${place} of the devnet`));
    secretKey[0] = 0; // below the order of the group
    const publicKey = bls12_381.shortSignatures.getPublicKey(secretKey).toBytes();
    return { secretKey, publicKey, weight: WEIGHT };
  });
  return known;
}

/** Four of five validators, others each epoch, in the order of their keys. */
function seatedIn(epoch: bigint): readonly Validator[] {
  const absent = Number(epoch % BigInt(VALIDATORS));
  return validators()
    .filter((_, place) => place !== absent)
    .toSorted((a, b) => Buffer.compare(a.publicKey, b.publicKey));
}

/** The committee of an epoch. */
export function committeeOf(epoch: bigint): readonly CommitteeMember[] {
  return seatedIn(epoch).map(({ publicKey, weight }) => ({ publicKey, weight }));
}

/** Certifies a checkpoint summary by the committee of its epoch, of which all but the first sign. */
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
