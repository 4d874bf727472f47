import { fromBase58, toBase58 } from '@mysten/sui/utils';
import { readerError } from '@opentill/chain/reader-error';
import { createBLAKE2b } from 'hash-wasm';
import type { SuiHeader } from '../sui-header.ts';
import type { ToldCheckpoint } from '../told-checkpoint.ts';
import { readContentsBytes, readSummaryBytes } from './summary-bytes.ts';

/** All that a checkpoint holds was checked against the digest that names it. */
export interface CheckpointProof {
  /** It is the last of its epoch. */
  readonly endsEpoch: boolean;
}

/** What is hashed goes behind the name of its type (crates/sui-types/src/crypto.rs, BcsSignable). */
const SUMMARY_SALT = Buffer.from('CheckpointSummary::');
const CONTENTS_SALT = Buffer.from('CheckpointContents::');

const blake2b = await createBLAKE2b(256);

function digestOf(salt: Uint8Array, bytes: Uint8Array): Uint8Array {
  return blake2b.init().update(salt).update(bytes).digest('binary');
}

/** The digest that names a checkpoint, base58, of the bytes of its summary. */
export function summaryDigestOf(bytes: Uint8Array): string {
  return toBase58(digestOf(SUMMARY_SALT, bytes));
}

/**
 * Checks a checkpoint by its own bytes: its digest is the one of its summary, the summary says what its header does, its contents have
 * the digest that the summary names, and their transactions are the ones given, all of them. Undefined where the node gives no bytes, or
 * bytes of a form that is not known here: then nothing is proven. Throws INCONSISTENT_ANSWER for bytes that say otherwise.
 */
export function proveCheckpoint(
  header: SuiHeader,
  { summary, contents }: Pick<ToldCheckpoint, 'summary' | 'contents'>,
  txHashes: readonly (string | undefined)[],
): CheckpointProof | undefined {
  const summaryBytes = summary?.bcs?.value ?? new Uint8Array();
  const contentsBytes = contents?.bcs?.value ?? new Uint8Array();
  if (summaryBytes.length === 0 || contentsBytes.length === 0) return undefined;
  const { height, hash } = header;
  const unfit = (why: string): Error => readerError('INCONSISTENT_ANSWER', why, { height, hash });
  if (summaryDigestOf(summaryBytes) !== hash) throw unfit('a checkpoint whose digest is of another summary');
  const signed = readSummaryBytes(summaryBytes);
  if (signed === undefined) return undefined;
  const isToldAsSigned =
    signed.sequenceNumber === BigInt(height) &&
    signed.epoch === BigInt(header.epoch) &&
    signed.totalTransactions === BigInt(header.totalTransactions) &&
    signed.timestampMs === BigInt(header.timeMs) &&
    (signed.previousDigest === undefined
      ? height === 0
      : toBase58(signed.previousDigest) === header.parentHash);
  if (!isToldAsSigned) throw unfit('a checkpoint is told otherwise than its summary was signed');
  if (!signed.contentDigest.equals(digestOf(CONTENTS_SALT, contentsBytes)))
    throw unfit('the contents of a checkpoint have another digest than its summary names');
  const digests = readContentsBytes(contentsBytes);
  if (digests === undefined) return undefined;
  if (!areThese(txHashes, digests))
    throw unfit('the transactions of a checkpoint are not those of its contents');
  return { endsEpoch: signed.nextCommittee !== undefined };
}

function areThese(txHashes: readonly (string | undefined)[], digests: readonly Buffer[]): boolean {
  try {
    return (
      digests.length === txHashes.length &&
      digests.every((digest, place) => digest.equals(fromBase58(txHashes[place] ?? '')))
    );
  } catch {
    return false; // not base58
  }
}
