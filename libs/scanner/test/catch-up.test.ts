import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { BlockHeader } from '@opentill/chain/block';
import type { RangeRead } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { EventData } from '@opentill/contracts/event-catalog';
import { openTestDatabase } from '@opentill/testkit/test-database';
import type { ScanNetwork } from '../src/scan-network.ts';
import { aTx, createMockNode, type MockNode, type MockTx } from './mock-node.ts';
import {
  address,
  CHAIN,
  forgetScans,
  giveOut,
  MOCK_NETWORK,
  openScan,
  outboxEvents,
  recordedTransfers,
  storedCursor,
  type TestScan,
  type TestScanOptions,
} from './scan-harness.ts';

const [ALICE, CAROL, STRANGER] = [address('alice'), address('carol'), address('stranger')];
const FIRST_HEAD = 20;

const database = await openTestDatabase();
const { admin } = database;
const scanner = database.open('scanner_evm');

let node: MockNode;

beforeAll(async () => {
  await giveOut(admin.kysely, [ALICE]);
});

/** Scanned to block 20, then extended by this many blocks with one payment each. */
async function leftBehind(blocks: number, network?: ScanNetwork): Promise<readonly MockTx[]> {
  await forgetScans(admin.kysely);
  node = createMockNode(CHAIN);
  for (let i = 0; i < FIRST_HEAD; i += 1) node.mine();
  node.finalize(FIRST_HEAD - 2);
  const before = await open(network === undefined ? {} : { network });
  await before.settle();
  await before.lease.release();
  const txs = Array.from({ length: blocks }, (_, i) =>
    aTx({ to: STRANGER, amount: 1n }, { to: ALICE, amount: BigInt(i + 1) }),
  );
  for (const tx of txs) node.mine(tx);
  node.reads.length = 0;
  node.calls.length = 0;
  await sql`delete from scanner_evm.outbox`.execute(admin.kysely);
  return txs;
}

const open = (options: Partial<TestScanOptions> = {}): Promise<TestScan> =>
  openScan({ db: scanner.kysely, reader: node.reader, ...options });
const cursor = () => storedCursor(admin.kysely);

/** The recorded transfers equal the chain's, each in the state implied by the verified cursor. */
async function expectTruth(): Promise<void> {
  const { verified, seen } = await cursor();
  const recorded = await recordedTransfers(admin.kysely);
  const truth = node.transfers().filter((t) => t.to === ALICE && t.blockHeight <= seen);
  const byHeight = <T extends { height: number }>(rows: readonly T[]): readonly T[] =>
    [...rows].sort((a, b) => a.height - b.height);
  expect(byHeight(recorded.filter((t) => t.state !== 'ORPHANED'))).toEqual(
    truth.map((t) => ({
      tx: t.txHash,
      position: t.position,
      to: t.to,
      amount: t.amountBaseUnits,
      height: t.blockHeight,
      block: t.blockHash,
      state: t.blockHeight <= verified ? 'VERIFIED' : 'DETECTED',
    })),
  );
}

describe('catching up', () => {
  it('reads deep enough blocks once, the verified way, and credits them in order', async () => {
    await leftBehind(100);
    node.faults.latencyMs = () => Math.random() * 5;
    const scan = await open();
    await scan.tick();
    expect(await cursor()).toMatchObject({ head: 120, seen: 120, verified: 118 });
    await expectTruth();
    const verified = node.reads.filter((read) => read.method === 'readVerified');
    expect(verified.map((read) => read.from).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 25 }, (_, i) => 19 + 4 * i),
    );
    expect(node.reads.filter((read) => read.method === 'readSeen')).toEqual([
      { method: 'readSeen', from: 119, to: 120 },
    ]);
    expect(node.callsAtOnce()).toBeGreaterThan(2);
    expect(node.callsAtOnce()).toBeLessThanOrEqual(12);
    const events = await outboxEvents(admin.kysely);
    const heights = events
      .filter((event) => event.type === 'block.verified')
      .map((event) => event.data as EventData['block.verified']);
    expect(heights.map((data) => data.height)).toEqual(
      heights.map((data) => data.height).toSorted((a, b) => a - b),
    );
    expect(heights.length).toBeGreaterThan(4);
    const credited = heights.flatMap((data) => data.transferIds);
    const { rows } = await sql<{ id: string }>`
      select transfer_id::text as id from transfer where state = 'VERIFIED' order by block_height`.execute(
      admin.kysely,
    );
    expect(credited).toEqual(rows.map((row) => row.id));
    expect(credited).toHaveLength(98);
    expect(events.filter((e) => e.type === 'transfer.detected')).toHaveLength(1); // for the two blocks at the head
  });

  it('never moves the verified time past an unrecorded payment', async () => {
    await leftBehind(60);
    const gaps: unknown[] = [];
    const scan = await open({
      wrapStore: (store) => ({
        ...store,
        async commit(...args) {
          const result = await store.commit(...args);
          await expectTruth().catch((error: unknown) => gaps.push(error));
          return result;
        },
      }),
    });
    await scan.settle();
    expect(gaps).toEqual([]);
  });

  it('looks up recipients after reading, so that a new address is found', async () => {
    await leftBehind(60);
    const early = aTx({ to: CAROL, amount: 1n }); // CAROL is a stranger until then
    const payment = aTx({ to: CAROL, amount: 2n });
    node.reorg(60, [early], ...Array.from({ length: 58 }, () => []), [payment]);
    let isGivenOut = false;
    const scan = await open({
      wrapStore: (store) => ({
        ...store,
        async findRecipients(...args) {
          const found = await store.findRecipients(...args);
          if (!isGivenOut) {
            isGivenOut = true;
            await giveOut(admin.kysely, [CAROL]);
          }
          return found;
        },
      }),
    });
    await scan.settle();
    const recorded = await recordedTransfers(admin.kysely);
    expect(recorded.filter(({ tx }) => tx === payment.hash)).toMatchObject([{ to: CAROL, height: 80 }]);
  });

  it('verifies only blocks below linked ones if a node claims a higher head', async () => {
    await leftBehind(12);
    node.claimHead(1_000);
    const scan = await open();
    for (let i = 0; i < 20; i += 1) {
      scan.clock.pass(1_000);
      await scan.tick().catch(() => undefined);
      const { seen, verified } = await cursor();
      expect(verified).toBeLessThanOrEqual(seen - 2);
      expect(seen).toBeLessThanOrEqual(32);
    }
    await expectTruth();
    node.claimHead(undefined);
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 32, verified: 30 });
    await expectTruth();
  });

  it.each([
    [0, 12],
    [6_500, 7],
    [60_000, 1],
  ])('reads ahead with %d other transfers per segment: %d segments, none skipped', async (besides, most) => {
    await leftBehind(100);
    let [underWay, ahead] = [0, 0];
    const [begun, first] = [[] as number[], FIRST_HEAD + MOCK_NETWORK.maxBlockRange];
    const reader: typeof node.reader = {
      ...node.reader,
      async readVerified(from, ...rest) {
        begun.push(from);
        underWay += 1;
        await new Promise((resolve) => setTimeout(resolve, 5));
        // The first segments have no measurements.
        if (from > first) ahead = Math.max(ahead, underWay);
        const range = await node.reader.readVerified(from, ...rest);
        underWay -= 1;
        const [like] = range.transfers;
        const others = Array.from({ length: besides }, (_, i) => ({
          ...like!,
          to: STRANGER,
          indexInBlock: 1_000 + i,
        }));
        return { ...range, transfers: [...range.transfers, ...others] };
      },
    };
    const scan = await open({ reader });
    await scan.tick();
    expect(begun.length).toBeGreaterThan(most);
    expect(ahead).toBeLessThanOrEqual(most);
    expect(ahead).toBeGreaterThan(most / 2);
    await expectTruth();
  });

  it('continues when the depth exceeds the blocks read at once', async () => {
    const network = { ...MOCK_NETWORK, confirmations: 60, reorgWindow: 8 };
    await leftBehind(150, network);
    const scan = await open({ network });
    await scan.tick();
    expect(await cursor()).toMatchObject({ seen: 170, verified: 111 });
    await expectTruth();
    expect(node.callsAtOnce()).toBeLessThanOrEqual(12);
  });

  it('commits the blocks below a failed read and discards those above', async () => {
    await leftBehind(100);
    let isDown = true;
    const ninth = 19 + 4 * 8;
    const readVerified: typeof node.reader.readVerified = (from, ...given) => {
      if (from !== ninth || !isDown) return node.reader.readVerified(from, ...given);
      isDown = false;
      return Promise.reject(readerError('RPC_UNAVAILABLE', 'down'));
    };
    const scan = await open({ reader: { ...node.reader, readVerified } });
    await scan.tick(); // the other passes continue with one range each
    expect(await cursor()).toMatchObject({ seen: ninth + 3, verified: ninth + 1 });
    await expectTruth();
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 120, verified: 118 });
    await expectTruth();
    expect(await scan.metrics.render()).toMatch(
      /opentill_scanner_errors_total\{chain="ETH_SEPOLIA",part="catch-up",code="RPC_UNAVAILABLE".*\} 1/,
    );
  });

  it('keeps showing payments while verification fails', async () => {
    await leftBehind(100);
    node.faults.beforeCall = (method) => {
      if (method === 'readVerified') throw readerError('INCONSISTENT_ANSWER', 'two forks');
    };
    const scan = await open();
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 120, verified: 18 });
    await expectTruth();
    node.faults.beforeCall = undefined;
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 120, verified: 118 });
    await expectTruth();
  });

  it.each([1, 3, 8, 20])('follows a reorganisation during read number %i', async (place) => {
    const txs = await leftBehind(100);
    let calls = 0;
    node.faults.beforeCall = (method) => {
      if (method !== 'readVerified' || (calls += 1) !== place) return;
      node.reorg(100, [], ...txs.map((tx, i) => (i % 2 === 0 ? [tx] : [])));
    };
    const scan = await open();
    let error: unknown;
    for (let i = 0; i < 5; i += 1) await scan.settle().catch((thrown: unknown) => (error = thrown));
    if ((await cursor()).seen < 121) {
      expect(error).toMatchObject({ code: 'REORG_TOO_DEEP' });
      // More blocks were verified than the window holds: the fork cannot be followed, and no block of it is recorded.
      expect(place).toBeGreaterThan(3);
      return;
    }
    await expectTruth();
    expect(await cursor()).toMatchObject({ seen: 121, verified: 119, seenHash: node.head().hash });
  });

  it('replaces block time and epoch of the seen read by the verified read', async () => {
    await leftBehind(1);
    const EPOCH = 7;
    const OFFSET_SECONDS = 86_400;
    let isVerifiable = false;
    const shifted = ({ headers, ...range }: RangeRead, epoch: number, bySeconds: number): RangeRead => ({
      ...range,
      headers: headers.map((one) => ({ ...one, epoch, timeSeconds: one.timeSeconds + bySeconds })),
    });
    const scan = await open({
      reader: {
        ...node.reader,
        readSeen: async (...given) =>
          shifted(await node.reader.readSeen(...given), EPOCH + 5, OFFSET_SECONDS),
        readVerified: async (...given) => {
          if (!isVerifiable) throw readerError('RPC_UNAVAILABLE', 'down');
          return shifted(await node.reader.readVerified(...given), EPOCH, 0);
        },
      },
    });
    const mined: BlockHeader[] = [];
    for (let count = 0; count < 60; count += 1) {
      mined.push(node.mine(aTx({ to: ALICE, amount: 1n })));
      await scan.tick().catch(() => undefined);
    }
    expect(await cursor()).toMatchObject({ seen: 81, verified: 18 });
    isVerifiable = true;
    scan.clock.pass(60_000);
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 81, verified: 79 });
    const { rows } = await sql`
      select verified_epoch::int as epoch, extract(epoch from verified_time)::int8 as time, (select count(*)::int from transfer
        where state = 'VERIFIED' and first_block_time > verified_time) as late
      from chain_cursor`.execute(admin.kysely);
    expect(rows).toEqual([{ epoch: EPOCH, time: mined.at(-3)!.timeSeconds, late: 0 }]);
  });

  it('stops when another replica takes the chain, which continues without gaps', async () => {
    await leftBehind(100);
    let commits = 0;
    const first = await open({
      holder: 'first',
      wrapStore: (store) => ({
        ...store,
        async commit(...args) {
          const result = await store.commit(...args);
          if ((commits += 1) === 2)
            await sql`update scanner_evm.lease set expires_at = now()`.execute(admin.kysely);
          if (commits === 2) await (await open({ holder: 'second' })).tick();
          return result;
        },
      }),
    });
    expect(await first.tick()).toBeUndefined();
    expect(commits).toBe(2);
    expect(first.lease.current()).toBeUndefined();
    expect(await cursor()).toMatchObject({ seen: 120, verified: 118 });
    await expectTruth();
  });

  it('stops catching up soon after an abort', async () => {
    await leftBehind(100);
    node.faults.latencyMs = () => 20;
    const scan = await open();
    const stopping = new AbortController();
    const round = scan.tick(stopping.signal);
    setTimeout(() => stopping.abort(), 30);
    await expect(round).rejects.toBeDefined();
    expect((await cursor()).seen).toBeLessThan(120);
    await expectTruth();
  });

  it('records native coin payments if the network lists the coin', async () => {
    await leftBehind(30);
    const native = aTx({ to: STRANGER, amount: 1n }, { to: ALICE, amount: 7n, isNative: true });
    node.mine(native);
    for (let i = 0; i < 5; i += 1) node.mine();
    node.mine(aTx({ to: ALICE, amount: 8n, isNative: true }));
    const scan = await open();
    await scan.settle();
    await expectTruth();
    const { rows } = await sql`
      select position, symbol, contract_address as contract, amount::text, state from transfer
      where contract_address is null order by amount`.execute(admin.kysely);
    expect(rows).toEqual([
      { position: 'value', symbol: 'ETH', contract: null, amount: '7', state: 'VERIFIED' },
      { position: 'value', symbol: 'ETH', contract: null, amount: '8', state: 'DETECTED' },
    ]);
    for (let i = 0; i < 3; i += 1) node.mine();
    await scan.settle();
    await expectTruth();
  });
});

describe('finality', () => {
  const finalized = (finality?: ScanNetwork['finality']): ScanNetwork => ({
    ...MOCK_NETWORK,
    confirmations: 'finalized',
    ...(finality === undefined ? {} : { finality }),
  });

  it('verifies up to the finalized block and catches up with a jump in parallel', async () => {
    const network = finalized();
    await leftBehind(100, network);
    node.finalize(60);
    const scan = await open({ network });
    await scan.tick();
    expect(await cursor()).toMatchObject({ seen: 120, verified: 60 });
    await expectTruth();
    node.reads.length = 0;
    node.finalize(115);
    await scan.tick();
    expect(await cursor()).toMatchObject({ seen: 120, verified: 115 });
    expect(node.reads.map((read) => read.from).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 14 }, (_, i) => 61 + 4 * i),
    );
    await expectTruth();
  });

  it('caps finality at the head and at the seen block', async () => {
    const network = finalized();
    await leftBehind(4, network);
    node.finalize(10 ** 9);
    const scan = await open({ network });
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 24, verified: 24 });
    node.finalize(20); // the earlier height was wrong
    for (let i = 0; i < 10; i += 1) node.mine();
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 34, verified: 24 });
  });

  it('requires minDepth in addition to finality', async () => {
    const network = finalized({ staleSeconds: 30, minDepth: 15 });
    await leftBehind(100, network);
    node.finalize(118);
    const scan = await open({ network });
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 120, verified: 106 });
    await expectTruth();
  });

  it.each(['stands still', 'is unavailable'])('holds the verified cursor while finality %s', async (how) => {
    const network = finalized({ staleSeconds: 60 });
    await leftBehind(50, network);
    node.faults.finalityStalled = how !== 'stands still';
    const scan = await open({ network });
    for (let i = 0; i < 10; i += 1) await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 70, verified: 18 });
    expect(await scan.metrics.render()).toMatch(
      /opentill_scanner_alarm_bool\{chain="ETH_SEPOLIA",kind="finality-stale".*\} 1/,
    );
    node.faults.finalityStalled = false;
    node.finalize(69);
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 70, verified: 69 });
    expect(await scan.metrics.render()).toMatch(
      /opentill_scanner_alarm_bool\{chain="ETH_SEPOLIA",kind="finality-stale".*\} 0/,
    );
    await expectTruth();
  });

  it.each(['stands still', 'is unavailable'])('verifies at fallbackDepth while finality %s', async (how) => {
    const network = finalized({ staleSeconds: 30, minDepth: 3, fallbackDepth: 24 });
    await leftBehind(50, network);
    node.faults.finalityStalled = how !== 'stands still';
    const scan = await open({ network });
    await scan.tick();
    scan.clock.pass(29_000);
    await scan.tick();
    expect(await cursor()).toMatchObject({ seen: 70, verified: 18 });
    scan.clock.pass(1_000);
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 70, verified: 47 });
    node.mine();
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 71, verified: 48 });
    await expectTruth();
    node.faults.finalityStalled = false;
    node.finalize(30); // finality moved, though not to the cursor, so the fallback ends
    node.mine();
    await scan.tick();
    expect(await cursor()).toMatchObject({ seen: 72, verified: 48 });
    node.finalize(66);
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 72, verified: 66 });
    await expectTruth();
  });

  it('finalizes no stored block by the finality of an unfollowed branch', async () => {
    const network = finalized();
    await leftBehind(0, network);
    node.finalize(10);
    const scan = await open({ network });
    for (let i = 0; i < 3; i += 1) node.mine();
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 23, verified: 18 });
    node.reorg(2, ...Array.from({ length: 20 }, () => []));
    node.finalize(node.head().height);
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 41, verified: 41, seenHash: node.head().hash });
  });

  it('follows a fork below the verified block after a fallback', async () => {
    const network = finalized({ staleSeconds: 30, fallbackDepth: 6 });
    await leftBehind(10, network);
    const scan = await open({ network });
    for (let i = 0; i < 3; i += 1) await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 30, verified: 25 });
    node.reorg(8, ...Array.from({ length: 9 }, () => []));
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 31, verified: 26, seenHash: node.head().hash });
    await expectTruth();
  });
});

beforeEach(() => forgetScans(admin.kysely));
