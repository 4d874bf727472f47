import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toBase58 } from '@mysten/sui/utils';
import type { SuiHeader } from '../sui-header.ts';
import { faultOfCertificate, readBitmap } from './certificate.ts';
import { proveCheckpoint, summaryDigestOf } from './prove-checkpoint.ts';
import { readContentsBytes, readSummaryBytes } from './summary-bytes.ts';

/** A checkpoint of a real network, byte for byte, with what its validators signed. */
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
const told = { summary: { bcs: { value: summary } }, contents: { bcs: { value: contents } } };
const refusal = { code: 'INCONSISTENT_ANSWER' };
const changed = (bytes: Uint8Array, place: number): Uint8Array =>
  bytes.map((byte, at) => (at === place ? byte ^ 1 : byte));

describe('a recorded checkpoint', () => {
  test('is proven by its own bytes', () => {
    expect(proveCheckpoint(header, told, txHashes)).toEqual({ endsEpoch: false });
  });

  test('is refused without one of its transactions, or with another in its place', () => {
    for (const some of [txHashes.slice(1), txHashes.slice(0, -1), txHashes.with(1, txHashes[0]!)])
      expect(() => proveCheckpoint(header, told, some)).toThrow(expect.objectContaining(refusal));
  });

  test('is refused when its contents lack a transaction', () => {
    // Of its transactions the first, a prologue, has no signature: without it the rest is well-formed.
    const shorter = Uint8Array.from([0, txHashes.length - 1, ...contents.subarray(2 + 66)]);
    const lacking = { ...told, contents: { bcs: { value: shorter } } };
    expect(readContentsBytes(shorter)).toHaveLength(txHashes.length - 1);
    expect(() => proveCheckpoint(header, lacking, txHashes.slice(1))).toThrow(
      expect.objectContaining({ message: expect.stringContaining('another digest') }),
    );
  });

  test('is refused under another digest, link, number, epoch, time or total', () => {
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
      expect(() => proveCheckpoint({ ...header, ...one } as SuiHeader, told, txHashes)).toThrow(
        expect.objectContaining(refusal),
      );
  });

  test('is not proven without its bytes, nor by bytes of a form that is not known', () => {
    expect(proveCheckpoint(header, { summary: {} }, txHashes)).toBeUndefined();
    expect(proveCheckpoint(header, { ...told, contents: undefined }, txHashes)).toBeUndefined();
    const unread = Uint8Array.of(1, 2, 3);
    const ofUnread = { ...header, hash: summaryDigestOf(unread) } as SuiHeader;
    expect(proveCheckpoint(ofUnread, { ...told, summary: { bcs: { value: unread } } }, [])).toBeUndefined();
    expect(readContentsBytes(changed(contents, 0).fill(9, 0, 1))).toBeUndefined();
  });
});

describe('the certificate of a recorded checkpoint', () => {
  const committee = { epoch: 0, members: recorded.committee };
  const { signature, bitmap } = recorded.certificate;
  const certificate = { epoch: 0n, signature: bytesOf(signature), bitmap: bytesOf(bitmap) };

  test('is that of a quorum of its committee', async () => {
    expect(readBitmap(certificate.bitmap)).toEqual([1, 2, 3]);
    expect(await faultOfCertificate(committee, summary, certificate)).toBeUndefined();
  });

  test('is refused for another summary, or by other signers', async () => {
    const others = { ...certificate, bitmap: changed(certificate.bitmap, 16) }; // 0, 2 and 3
    expect(readBitmap(others.bitmap)).toEqual([0, 2, 3]);
    for (const [what, by] of [
      [changed(summary, 0), certificate],
      [summary, others],
    ] as const)
      expect(await faultOfCertificate(committee, what, by)).toMatch('its signature is not');
  });

  test('is refused of another epoch, without a quorum, and of nobody known', async () => {
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
      'it is not said who has signed it',
      'it is not said who has signed it',
    ]);
  });

  test('names its signers by runs as well', () => {
    // One container, of runs: 3 to 5 and 9.
    const cookie = [0x3b, 0x30, 0, 0, 1, 0, 0, 3, 0];
    expect(readBitmap(Uint8Array.from([...cookie, 2, 0, 3, 0, 2, 0, 9, 0, 0, 0]))).toEqual([3, 4, 5, 9]);
    expect(readBitmap(Uint8Array.from([...cookie, 2, 0, 3, 0]))).toBeUndefined();
  });
});
