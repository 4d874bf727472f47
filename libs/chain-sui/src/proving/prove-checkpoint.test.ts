import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toBase58 } from '@mysten/sui/utils';
import type { SuiHeader } from '../sui-header.ts';
import { faultOfCertificate, readBitmap } from './certificate.ts';
import { proveCheckpoint, summaryDigestOf } from './prove-checkpoint.ts';
import { readContentsBytes, readSummaryBytes } from './summary-bytes.ts';

/** From a real network, byte for byte, with its certificate. */
const file = join(import.meta.dirname, '../../../../tools/devnets/test/fixtures/sui-checkpoint-1137.json');
const recorded = JSON.parse(readFileSync(file, 'utf8')) as {
  readonly summary: string;
  readonly contents: string;
  readonly certificate: { readonly epoch: number; readonly signature: string; readonly bitmap: string };
  readonly committee: readonly { readonly publicKey: string; readonly weight: number }[];
};
const bytesOf = (base64: string): Uint8Array => Uint8Array.from(Buffer.from(base64, 'base64'));
const summary = bytesOf(recorded.summary);
const contents = bytesOf(recorded.contents);
const read = readSummaryBytes(summary)!;
const txHashes = readContentsBytes(contents)!.map((digest) => toBase58(digest));
const header = {
  height: 1_137,
  hash: summaryDigestOf(summary),
  parentHash: toBase58(read.previousDigest!),
  timeSeconds: Number(read.timestampMs / 1_000n),
  epoch: 0,
  timeMs: Number(read.timestampMs),
  totalTransactions: Number(read.totalTransactions),
} as SuiHeader;
const raw = { summary: { bcs: { value: summary } }, contents: { bcs: { value: contents } } };
const refusal = { code: 'INCONSISTENT_ANSWER' };
const changed = (bytes: Uint8Array, place: number): Uint8Array =>
  bytes.map((byte, at) => (at === place ? byte ^ 1 : byte));

describe('proveCheckpoint with a recorded checkpoint', () => {
  test('proves a checkpoint by its own bytes', () => {
    expect(proveCheckpoint(header, raw, txHashes)).toEqual({ endsEpoch: false });
  });

  test('rejects a checkpoint with a missing or replaced transaction', () => {
    for (const some of [txHashes.slice(1), txHashes.slice(0, -1), txHashes.with(1, txHashes[0]!)])
      expect(() => proveCheckpoint(header, raw, some)).toThrow(expect.objectContaining(refusal));
  });

  test('rejects contents that lack a transaction', () => {
    // The first transaction, a prologue, has no signature. Without it the bytes are well-formed.
    const shorter = Uint8Array.from([0, txHashes.length - 1, ...contents.subarray(2 + 66)]);
    const lacking = { ...raw, contents: { bcs: { value: shorter } } };
    expect(readContentsBytes(shorter)).toHaveLength(txHashes.length - 1);
    expect(() => proveCheckpoint(header, lacking, txHashes.slice(1))).toThrow(
      expect.objectContaining({ message: expect.stringContaining('another digest') }),
    );
  });

  test('rejects another digest, parent, height, epoch, time or total', () => {
    const other = txHashes[0]!;
    const wrong: readonly Partial<Record<keyof SuiHeader, unknown>>[] = [
      { hash: other },
      { parentHash: other },
      { height: 1_138 },
      { epoch: 1 },
      { timeMs: header.timeMs + 1 },
      { totalTransactions: header.totalTransactions - 1 },
    ];
    for (const one of wrong)
      expect(() => proveCheckpoint({ ...header, ...one } as SuiHeader, raw, txHashes)).toThrow(
        expect.objectContaining(refusal),
      );
  });

  test('returns no proof when bytes are missing or have an unknown form', () => {
    expect(proveCheckpoint(header, { summary: {} }, txHashes)).toBeUndefined();
    expect(proveCheckpoint(header, { ...raw, contents: undefined }, txHashes)).toBeUndefined();
    const unread = Uint8Array.of(1, 2, 3);
    const ofUnread = { ...header, hash: summaryDigestOf(unread) } as SuiHeader;
    expect(proveCheckpoint(ofUnread, { ...raw, summary: { bcs: { value: unread } } }, [])).toBeUndefined();
    expect(readContentsBytes(changed(contents, 0).fill(9, 0, 1))).toBeUndefined();
  });
});

describe('the certificate of a recorded checkpoint', () => {
  const committee = { epoch: 0, members: recorded.committee };
  const { signature, bitmap } = recorded.certificate;
  const certificate = { epoch: 0n, signature: bytesOf(signature), bitmap: bytesOf(bitmap) };

  test('accepts the signature of a quorum of the committee', async () => {
    expect(readBitmap(certificate.bitmap)).toEqual([1, 2, 3]);
    expect(await faultOfCertificate(committee, summary, certificate)).toBeUndefined();
  });

  test('rejects another summary and other signers', async () => {
    const others = { ...certificate, bitmap: changed(certificate.bitmap, 16) }; // signers 0, 2 and 3
    expect(readBitmap(others.bitmap)).toEqual([0, 2, 3]);
    for (const [what, by] of [
      [changed(summary, 0), certificate],
      [summary, others],
    ] as const)
      expect(await faultOfCertificate(committee, what, by)).toMatch('its signature does not match');
  });

  test('rejects another epoch, a missing quorum and unknown signers', async () => {
    const two = { ...certificate, bitmap: bytesOf('OjAAAAEAAAAAAAEAEAAAAAEAAgA=') };
    expect(readBitmap(two.bitmap)).toEqual([1, 2]);
    const faults = await Promise.all([
      faultOfCertificate({ ...committee, epoch: 1 }, summary, certificate),
      faultOfCertificate(committee, summary, { ...certificate, signature: undefined }),
      faultOfCertificate(committee, summary, two),
      faultOfCertificate({ ...committee, members: committee.members.slice(1) }, summary, certificate),
      faultOfCertificate(committee, summary, { ...certificate, bitmap: Uint8Array.of(1, 2, 3) }),
    ]);
    expect(faults.map((fault) => fault?.replace(/[0-9,]+/g, 'n'))).toEqual([
      'it has no signature of its epoch',
      'it has no signature of its epoch',
      'only n of n votes have signed it',
      'it names no known signers',
      'it names no known signers',
    ]);
  });

  test('reads a bitmap of runs', () => {
    // One run container with 3 to 5 and 9.
    const cookie = [0x3b, 0x30, 0, 0, 1, 0, 0, 3, 0];
    expect(readBitmap(Uint8Array.from([...cookie, 2, 0, 3, 0, 2, 0, 9, 0, 0, 0]))).toEqual([3, 4, 5, 9]);
    expect(readBitmap(Uint8Array.from([...cookie, 2, 0, 3, 0]))).toBeUndefined();
  });
});
