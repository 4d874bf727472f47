import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { createSuiReader } from '../src/reader.ts';
import { startSuiDevnet, type SuiDevnet, type SuiNode } from '@opentill/devnets/sui/start-sui-devnet';
import { suiDevnetNetwork } from '@opentill/testkit/devnet-networks';

const RECEIVER = `0x${'a1'.repeat(32)}`;
const refused = { code: 'INCONSISTENT_ANSWER' };
let devnet: SuiDevnet;
let other: SuiNode;
let end: { readonly height: number; readonly hash: string };
let paidAt: number;

beforeAll(async () => {
  devnet = await startSuiDevnet({ checkpointMs: 0, seed: 'proofs' });
  other = await devnet.control.openNode();
  await devnet.control.fund(RECEIVER, { mist: 5n });
  paidAt = devnet.control.summary().checkpoint;
  const { checkpoint: height, digest: hash } = devnet.control.advanceEpoch();
  end = { height, hash };
  devnet.control.checkpoint(2);
});
afterEach(() => {
  devnet.control.clearFaults();
  other.clearFaults();
});
afterAll(() => devnet.close());

const readerOf = (...urls: readonly string[]): ChainReader =>
  createSuiReader(suiDevnetNetwork(devnet, { rpcUrls: [...urls] }));

test('proves a verified range by its bytes, with the epoch ends in it', async () => {
  const range = await readerOf(devnet.url, other.url).readVerified(paidAt, end.height + 2, []);
  expect(range.proof).toEqual({ epochEnds: [{ epoch: 0, ...end }] });
});

test('rejects a checkpoint whose node left out a transaction', async () => {
  const reader = readerOf(devnet.url);
  devnet.control.fault({ kind: 'hide-payments', address: RECEIVER });
  await expect(reader.readSeen(paidAt, paidAt)).rejects.toMatchObject(refused);
  devnet.control.clearFaults();
  devnet.control.fault({ kind: 'no-checkpoint-bytes' });
  const { proof, headers } = await reader.readVerified(paidAt, end.height, []);
  expect([proof, headers.length]).toEqual([undefined, end.height - paidAt + 1]);
});

test('does not certify a linked chain that a node made up', async () => {
  devnet.control.fault({ kind: 'forge-without', fromCheckpoint: paidAt, address: RECEIVER });
  const { committees, readVerified } = readerOf(devnet.url);
  const { proof } = await readVerified(paidAt, end.height + 1, []);
  expect(proof?.epochEnds).toMatchObject([
    { height: end.height, hash: expect.not.stringContaining(end.hash) },
  ]);
  const committee = await committees!.trusted(0, undefined);
  await expect(committees!.certifiedEnd(committee, undefined)).rejects.toMatchObject(refused);
});

test('takes the next committee only from a certified end of epoch', async () => {
  const committees = readerOf(devnet.url, other.url).committees!;
  const first = await committees.trusted(0, undefined);
  const { next, ...certified } = await committees.certifiedEnd(first, undefined);
  expect(certified).toEqual(end);
  expect(next).toEqual(await committees.trusted(1, undefined));
  const wrong = { ...next, epoch: 0 };
  await expect(committees.certifiedEnd(wrong, undefined)).rejects.toMatchObject(refused);
});
