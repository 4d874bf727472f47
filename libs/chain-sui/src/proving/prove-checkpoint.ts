import { fromBase58, toBase58 } from '@mysten/sui/utils';
import { readerError } from '@opentill/chain/reader-error';
import { createBLAKE2b } from 'hash-wasm';
import type { SuiHeader } from '../sui-header.ts';
import type { RawCheckpoint } from '../raw-checkpoint.ts';
import { readContentsBytes, readSummaryBytes } from './summary-bytes.ts';

/** The contents match the digest in the summary. */
export interface CheckpointProof {
  readonly endsEpoch: boolean;
}

/** The type's name (crates/sui-types/src/crypto.rs, BcsSignable). */
const SUMMARY_SALT = Buffer.from('CheckpointSummary::');
const CONTENTS_SALT = Buffer.from('CheckpointContents::');

const blake2b = await createBLAKE2b(256);

function digestOf(salt: Uint8Array, bytes: Uint8Array): Uint8Array {
  return blake2b.init().update(salt).update(bytes).digest('binary');
}

export function summaryDigestOf(bytes: Uint8Array): string {
  return toBase58(digestOf(SUMMARY_SALT, bytes));
}

/**
 * Checks a checkpoint against its own bytes. The summary must have the checkpoint's digest and match its header, the
 * contents must have the digest in the summary and list exactly `txHashes`. Undefined if the node returned no bytes, or
 * bytes of an unknown form. Throws INCONSISTENT_ANSWER on a contradiction.
 */
export function proveCheckpoint(
  header: SuiHeader,
  { summary, contents }: Pick<RawCheckpoint, 'summary' | 'contents'>,
  txHashes: readonly (string | undefined)[],
): CheckpointProof | undefined {
  const summaryBytes = summary?.bcs?.value ?? new Uint8Array();
  const contentsBytes = contents?.bcs?.value ?? new Uint8Array();
  if (summaryBytes.length === 0 || contentsBytes.length === 0) return undefined;
  const { height, hash } = header;
  const unfit = (why: string): Error => readerError('INCONSISTENT_ANSWER', why, { height, hash });
  if (summaryDigestOf(summaryBytes) !== hash) throw unfit('a checkpoint has another digest than its summary');
  const signed = readSummaryBytes(summaryBytes);
  if (signed === undefined) return undefined;
  const matchesSigned =
    signed.sequenceNumber === BigInt(height) &&
    signed.epoch === BigInt(header.epoch) &&
    signed.totalTransactions === BigInt(header.totalTransactions) &&
    signed.timestampMs === BigInt(header.timeMs) &&
    (signed.previousDigest === undefined
      ? height === 0
      : toBase58(signed.previousDigest) === header.parentHash);
  if (!matchesSigned) throw unfit('the header of a checkpoint differs from its signed summary');
  if (!signed.contentDigest.equals(digestOf(CONTENTS_SALT, contentsBytes)))
    throw unfit('the contents of a checkpoint have another digest than its summary names');
  const digests = readContentsBytes(contentsBytes);
  if (digests === undefined) return undefined;
  if (!areThese(txHashes, digests)) throw unfit('the transactions of a checkpoint differ from its contents');
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
