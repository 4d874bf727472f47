import { expect, test } from 'vitest';
import type { BlockHash } from '@opentill/chain/block';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { EpochCommittee, EpochCommittees } from '@opentill/chain/epoch-committee';
import { readerError } from '@opentill/chain/reader-error';
import type { Lease } from '@opentill/db/lease';
import { createEpochCertifying } from './certify-epochs.ts';
import type { ScanObserver } from './observe.ts';
import type { ScanNetwork } from './scan-network.ts';
import type { ScanStore } from './store/scan-store.ts';

const committeeOf = (epoch: number): EpochCommittee => ({ epoch, members: [{ publicKey: 'k', weight: 1 }] });
const hash = 'c9' as BlockHash;

function world() {
  const done: string[] = [];
  const stored: EpochCommittee[] = [];
  let nowMs = 0;
  const asked = { isEndGiven: true, isReadOtherwise: false };
  const committees: EpochCommittees = {
    trusted(epoch) {
      done.push(`trusts ${epoch}`);
      return Promise.resolve(committeeOf(epoch));
    },
    certifiedEnd({ epoch }) {
      if (!asked.isEndGiven) return Promise.reject(readerError('INCONSISTENT_ANSWER', 'not certified', {}));
      return Promise.resolve({ height: 9, hash, next: committeeOf(epoch + 1) });
    },
  };
  const store = {
    committees: {
      latest: () => Promise.resolve(stored.at(-1)),
      trust(_lease: unknown, _chain: unknown, committee: EpochCommittee) {
        stored.push(committee);
        return Promise.resolve();
      },
      certify(_lease: unknown, _chain: unknown, epoch: number, end: { readonly next: EpochCommittee }) {
        done.push(`certifies ${epoch}`);
        stored.push(end.next);
        return Promise.resolve(asked.isReadOtherwise);
      },
    },
  } as unknown as ScanStore;
  const observe = {
    committeeTrusted: () => undefined,
    failed: (_chain: unknown, part: string, error: { readonly code?: string }) =>
      done.push(`${part} failed: ${error.code}`),
  } as unknown as ScanObserver;
  const certifying = createEpochCertifying({
    network: { chain: 'SUI_TEST' } as ScanNetwork,
    reader: { committees } as ChainReader,
    store,
    observe,
    clock: { now: () => new Date(nowMs) },
  });
  const run = async (epoch: number): Promise<readonly string[]> => {
    nowMs += 60_000;
    const block = { height: 1, hash, parentHash: hash, timeSeconds: 1, epoch };
    const state = { head: block, finalizedHeight: 1, verifiedHeight: 1, blocks: [block] };
    await certifying.run({} as Lease, state, {});
    return done.splice(0);
  };
  return { run, asked, forget: certifying.forget };
}

test('trusts one committee and derives the others from signatures', async () => {
  const { run } = world();
  expect(await run(4)).toEqual(['trusts 4']);
  expect(await run(4)).toEqual([]);
  expect(await run(6)).toEqual(['certifies 4']);
  expect(await run(6)).toEqual(['certifies 5']);
  expect(await run(6)).toEqual([]);
});

test('waits for a certified epoch end instead of trusting a second committee', async () => {
  const { run, asked, forget } = world();
  await run(4);
  asked.isEndGiven = false;
  for (const epoch of [5, 6]) expect(await run(epoch)).toEqual(['certify failed: INCONSISTENT_ANSWER']);
  forget();
  expect(await run(6)).toEqual(['certify failed: INCONSISTENT_ANSWER']);
  asked.isEndGiven = true;
  expect(await run(6)).toEqual(['certifies 4']);
});

test('reports an epoch whose certified end differs from the scanned one', async () => {
  const { run, asked } = world();
  await run(4);
  asked.isReadOtherwise = true;
  expect(await run(5)).toEqual(['certifies 4', 'certify failed: NOT_CERTIFIED']);
});
