import type { EpochCommittee } from '@opentill/chain/epoch-committee';
import type { SummaryBytes } from './summary-bytes.ts';

export interface Certificate {
  readonly epoch?: bigint | undefined;
  readonly signature?: Uint8Array | undefined;
  /** Roaring bitmap of the signers' indices in the committee. */
  readonly bitmap?: Uint8Array | undefined;
}

/** BLS with small signatures, basic scheme (fastcrypto, bls12381::min_sig). */
const DOMAIN = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_';
/** Signed bytes begin with IntentScope::CheckpointSummary, version 0, app Sui (sui, crates/shared-crypto, Intent). */
const INTENT = Buffer.from([2, 0, 0]);
const KEY_BYTES = 96;
/** A committee has 10,000 votes; two thirds of them plus one are a quorum (crates/sui-types/src/committee.rs). */
const VOTES = 10_000;
const QUORUM = 6_667;

/**
 * Sorted by key, as the bitmaps count. Undefined if a key repeats or is malformed, or the weights do not sum to 10,000.
 */
export function committeeOf(
  epoch: number,
  named: readonly {
    readonly publicKey?: Uint8Array | undefined;
    readonly weight?: bigint | undefined;
  }[],
): EpochCommittee | undefined {
  const members = named
    .map(({ publicKey, weight }) => ({ key: Buffer.from(publicKey ?? []), weight: Number(weight ?? 0) }))
    .toSorted((a, b) => Buffer.compare(a.key, b.key));
  const isOne =
    members.every(({ key, weight }, place) => {
      const before = members[place - 1];
      return key.length === KEY_BYTES && weight > 0 && before?.key.equals(key) !== true;
    }) && members.reduce((sum, { weight }) => sum + weight, 0) === VOTES;
  if (!isOne) return undefined;
  return {
    epoch,
    members: members.map(({ key, weight }) => ({ publicKey: key.toString('base64'), weight })),
  };
}

export function nextCommitteeIn({ epoch, nextCommittee }: SummaryBytes): EpochCommittee | undefined {
  return nextCommittee && committeeOf(Number(epoch) + 1, nextCommittee);
}

/** Undefined if the certificate proves a quorum for this summary. */
export async function faultOfCertificate(
  { epoch, members }: EpochCommittee,
  summaryBytes: Uint8Array,
  certificate: Certificate,
): Promise<string | undefined> {
  const { signature, bitmap } = certificate;
  if (certificate.epoch !== BigInt(epoch) || signature === undefined || bitmap === undefined)
    return 'it has no signature of its epoch';
  const places = readBitmap(bitmap);
  const signers = places?.map((place) => members[place]);
  if (signers === undefined || signers.length === 0 || signers.includes(undefined))
    return 'it names no known signers';
  const votes = signers.reduce((sum, signer) => sum + (signer?.weight ?? 0), 0);
  if (votes < QUORUM) return `only ${votes} of ${VOTES} votes have signed it`;
  // Imported lazily: needed once an epoch.
  const { bls12_381 } = await import('@noble/curves/bls12-381.js');
  const { aggregatePublicKeys, hash, verify } = bls12_381.shortSignatures;
  const epochBytes = Buffer.alloc(8);
  epochBytes.writeBigUInt64LE(BigInt(epoch));
  try {
    const keys = signers.map((signer) => Buffer.from(signer?.publicKey ?? '', 'base64'));
    const points = keys.map((key) => bls12_381.G2.Point.fromBytes(Uint8Array.from(key)));
    const message = hash(Uint8Array.from(Buffer.concat([INTENT, summaryBytes, epochBytes])), DOMAIN);
    if (verify(Uint8Array.from(signature), message, aggregatePublicKeys(points))) return undefined;
  } catch {
    // A key or the signature is not a point of its curve.
  }
  return 'its signature does not match the signers that it names';
}

const NO_RUNS = 12_346;
const WITH_RUNS = 12_347;

/**
 * Ascending (https://github.com/RoaringBitmap/RoaringFormatSpec). Committees have some hundred members, so only bitmaps
 * with one container are read, an array or a run container. Undefined for any other bytes.
 */
export function readBitmap(bytes: Uint8Array): readonly number[] | undefined {
  const buffer = Buffer.from(bytes);
  try {
    const cookie = buffer.readUInt32LE(0);
    const hasRuns = cookie % 65_536 === WITH_RUNS;
    if (!hasRuns && cookie !== NO_RUNS) return undefined;
    const containers = hasRuns ? Math.floor(cookie / 65_536) + 1 : buffer.readUInt32LE(4);
    // With runs, a byte marks the containers that are run containers.
    const header = hasRuns ? 5 : 8;
    if (containers !== 1 || buffer.readUInt16LE(header) !== 0) return undefined;
    const count = buffer.readUInt16LE(header + 2) + 1;
    const isOfRuns = hasRuns && buffer.readUInt8(4) === 1;
    const places = isOfRuns
      ? readRuns(buffer, header + 4)
      : readPlaces(buffer, header + (hasRuns ? 4 : 8), count);
    const isAscending = places.every((place, at) => at === 0 || place > (places[at - 1] ?? 0));
    return isAscending && places.length === count ? places : undefined;
  } catch {
    return undefined; // truncated
  }
}

function readPlaces(buffer: Buffer, at: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, place) => buffer.readUInt16LE(at + 2 * place));
}

function readRuns(buffer: Buffer, at: number): readonly number[] {
  const runs = buffer.readUInt16LE(at);
  return Array.from({ length: runs }, (_, run) => {
    const first = buffer.readUInt16LE(at + 2 + 4 * run);
    const more = buffer.readUInt16LE(at + 4 + 4 * run);
    return Array.from({ length: more + 1 }, (__, place) => first + place);
  }).flat();
}
