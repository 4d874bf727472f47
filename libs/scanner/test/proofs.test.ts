import { beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { EpochEnd } from '@opentill/chain/epoch-committee';
import { keepLease, type Lease } from '@opentill/db/lease';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { openTestDatabase } from '@opentill/testkit/test-database';
import type { ChainState } from '../src/chain-state.ts';
import { createScanStore, type ScanStore } from '../src/store/scan-store.ts';
import { MOCK_NETWORK } from './scan-harness.ts';

const CHAIN = 'SUI_TEST';
const NETWORK = { ...MOCK_NETWORK, chain: CHAIN, family: 'SUI' } as const;
const EPOCH = 3;
const database = await openTestDatabase();
const signer = database.open('signer');
const scanner = database.open('scanner_sui');

let store: ScanStore;
let lease: Lease;
let state: ChainState;

beforeAll(async () => {
  const { kysely: db } = scanner;
  store = createScanStore({ db, schema: 'scanner_sui', clock: systemClock, newId });
  const name = `chain:${CHAIN}`;
  const keeper = keepLease({ db, schema: 'scanner_sui', name, holder: 'one', ttlMs: 60_000 });
  await keeper.acquire();
  lease = keeper.current()!;
  state = { head: block(10), finalizedHeight: 10, verifiedHeight: 10, blocks: [block(10)] };
  await store.insertFirstState(lease, NETWORK, state);
});

function block(height: number): BlockHeader {
  const [hash, parentHash] = [`c${height}`, `c${height - 1}`] as BlockHash[];
  return { height, hash: hash!, parentHash: parentHash!, timeSeconds: height, epoch: EPOCH };
}

/** Returns the heights after which and up to which all checkpoints are proven. */
async function moveTo(height: number, epochEnds: readonly EpochEnd[] | undefined): Promise<unknown> {
  const from = state.verifiedHeight;
  const newBlocks = Array.from({ length: height - from }, (_, place) => block(from + 1 + place));
  const step = {
    head: block(height),
    finalizedHeight: height,
    verifiedHeight: height,
    ancestorHeight: from,
    newBlocks,
  };
  const change = { step, matched: [], matchedState: 'VERIFIED', orphaned: [] } as const;
  const proof = epochEnds && { epochEnds };
  ({ state } = await store.commit(lease, NETWORK, state, { ...change, proof }));
  const { rows } = await sql<Record<string, number | null>>`
    select proven_after_height as after, proven_height as height from chain_cursor where chain = ${CHAIN}`.execute(
    scanner.kysely,
  );
  return Object.values(rows[0]!);
}

async function whyUnproven(above: number, epoch = EPOCH): Promise<string | null> {
  const { rows } = await sql<{ why: string | null }>`
    select why_epochs_unproven(${CHAIN}, ${above}, ${epoch}) as why`.execute(signer.kysely);
  return rows[0]!.why;
}

test('restarts the proof after an unproven checkpoint or a moved cursor', async () => {
  expect(await moveTo(12, [])).toEqual([10, 12]);
  expect(await moveTo(13, [])).toEqual([10, 13]);
  expect(await moveTo(14, undefined)).toEqual([null, null]);
  expect(await moveTo(15, [])).toEqual([14, 15]);
  await moveTo(17, undefined);
  // Older code does not update these columns.
  await sql`update chain_cursor set proven_after_height = 14, proven_height = 15 where chain = ${CHAIN}`.execute(
    scanner.kysely,
  );
  expect(await moveTo(19, [{ epoch: EPOCH, height: 18, hash: block(18).hash }])).toEqual([17, 19]);
  expect(await whyUnproven(16)).toMatch('no checkpoint up to 17, and it may have landed above 16');
  expect(await whyUnproven(17)).toMatch('not known to be certified');
  expect(await whyUnproven(17, EPOCH + 1)).toMatch('has not proven the checkpoints up to the end of epoch 4');
});

test('proves an epoch only by the end that its committee certified', async () => {
  const { committees } = store;
  const members = [{ publicKey: 'key', weight: 10_000 }];
  const next = { epoch: EPOCH + 1, members };
  await committees.trust(lease, CHAIN, { epoch: EPOCH, members });
  await committees.trust(lease, CHAIN, { epoch: EPOCH + 7, members: [] });
  expect(await committees.latest(CHAIN)).toEqual({ epoch: EPOCH, members });
  const { hash } = block(18);
  expect(await committees.certify(lease, CHAIN, EPOCH, { height: 18, hash, next })).toBe(false);
  expect(await committees.latest(CHAIN)).toEqual(next);
  expect([await whyUnproven(17), await whyUnproven(16)]).toEqual([null, expect.stringContaining('above 16')]);
  // A later end does not replace it.
  const other = { height: 18, hash: 'other' as BlockHash, next };
  expect(await committees.certify(lease, CHAIN, EPOCH, other)).toBe(true);
  expect(await whyUnproven(17)).toBeNull();
  await moveTo(21, [{ epoch: EPOCH + 1, height: 20, hash: block(20).hash }]);
  const end = { height: 20, hash: 'other' as BlockHash, next: { epoch: EPOCH + 2, members } };
  expect(await committees.certify(lease, CHAIN, EPOCH + 1, end)).toBe(true);
  expect(await whyUnproven(17, EPOCH + 1)).toMatch('certified another end of it than the own scan read');
});
