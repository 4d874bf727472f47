import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { RangeRead } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { aTx, createMockNode, type MockNode } from './mock-node.ts';
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
  transferVersions,
  type TestScan,
} from './scan-harness.ts';

const [ALICE, BOB, STRANGER] = [address('alice'), address('bob'), address('stranger')];

const database = await openTestDatabase();
const { admin } = database;
const scanner = database.open('scanner_evm');

beforeAll(async () => {
  await giveOut(admin.kysely, [ALICE, BOB]);
});

/** EVM readers return only some headers of a range (sparse). */
describe.each([{ isSparse: false }, { isSparse: true }])('sparse: $isSparse', ({ isSparse }) => {
  let node: MockNode;

  beforeEach(async () => {
    await forgetScans(admin.kysely);
    node = createMockNode(CHAIN, { isSparse });
    mineEmpty(20);
  });

  function mineEmpty(count: number): void {
    for (let i = 0; i < count; i += 1) node.mine();
  }

  const open = (): Promise<TestScan> => openScan({ db: scanner.kysely, reader: node.reader });
  const openAs = (holder: string): Promise<TestScan> =>
    openScan({ db: scanner.kysely, reader: node.reader, holder });
  const states = async (): Promise<readonly string[]> =>
    (await recordedTransfers(admin.kysely)).map((t) => `${t.tx} ${t.height} ${t.state}`);
  const eventTypes = async (): Promise<readonly string[]> =>
    (await outboxEvents(admin.kysely)).map((e) => e.type);
  const clearOutbox = (): Promise<unknown> => sql`delete from scanner_evm.outbox`.execute(admin.kysely);

  describe('first cursor', () => {
    it('starts at the verified depth below the head with the blocks of the window', async () => {
      const scan = await open();
      await scan.tick();
      const cursor = await storedCursor(admin.kysely);
      expect(cursor).toMatchObject({ head: 20, seen: 20, verified: 18 });
      expect(cursor.blocks[0]).toBe('0xblock-8-0');
      expect(cursor.blocks).toHaveLength(isSparse ? 12 : 13);
    });

    it('starts at block 0 on a chain younger than its confirmations', async () => {
      node = createMockNode(CHAIN, { isSparse });
      const scan = await open();
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ head: 0, seen: 0, verified: 0 });
    });

    it('starts at the finalized block if finality decides', async () => {
      node.finalize(11);
      const network = { ...MOCK_NETWORK, confirmations: 'finalized' } as const;
      const scan = await openScan({ db: scanner.kysely, reader: node.reader, network });
      await scan.settle();
      const cursor = await storedCursor(admin.kysely);
      expect(cursor).toMatchObject({ head: 20, seen: 20, verified: 11 });
      expect(cursor.blocks[0]).toBe('0xblock-11-0');
    });
  });

  describe('block time', () => {
    const DAY_SECONDS = 86_400;

    it.each([
      ['in the future', DAY_SECONDS],
      ['in the past', -DAY_SECONDS],
    ])('replaces a time %s from the seen read by that of the verified read', async (_name, offsetSeconds) => {
      const shiftedReader: typeof node.reader = {
        ...node.reader,
        readSeen: async (from, to, options) => {
          const range = await node.reader.readSeen(from, to, options);
          const headers = range.headers.map((header) => ({
            ...header,
            timeSeconds: header.timeSeconds + offsetSeconds,
          }));
          return { ...range, headers };
        },
      };
      const scan = await openScan({ db: scanner.kysely, reader: shiftedReader });
      await scan.settle();
      const block = node.mine(aTx({ to: ALICE, amount: 5n }));
      const timesOf = async () => {
        const { rows } = await sql<{ block: number; transfer: number; first: number; verified: number }>`
        select extract(epoch from b.block_time)::int8 as block, extract(epoch from t.block_time)::int8 as transfer,
          extract(epoch from t.first_block_time)::int8 as first, extract(epoch from c.verified_time)::int8 as verified
        from chain_cursor c join block b using (chain) join transfer t using (chain)
        where b.height = ${block.height} and t.block_height = ${block.height}`.execute(admin.kysely);
        return rows;
      };
      await scan.settle();
      const reported = block.timeSeconds + offsetSeconds;
      expect(await timesOf()).toMatchObject([{ block: reported, transfer: reported, first: reported }]);
      mineEmpty(2);
      await scan.settle();
      const { timeSeconds } = block;
      expect(await timesOf()).toEqual([
        { block: timeSeconds, transfer: timeSeconds, first: timeSeconds, verified: timeSeconds },
      ]);
    });
  });

  describe('block epoch', () => {
    const EPOCH = 500;
    const inEpoch = (range: RangeRead, epoch: number): RangeRead => ({
      ...range,
      headers: range.headers.map((header) => ({ ...header, epoch })),
    });

    it.each([
      ['later', EPOCH + 5],
      ['earlier', EPOCH - 5],
    ])('replaces an %s epoch from the seen read by that of the verified read', async (_name, seenEpoch) => {
      const scan = await openScan({
        db: scanner.kysely,
        reader: {
          ...node.reader,
          readSeen: async (...given) => inEpoch(await node.reader.readSeen(...given), seenEpoch),
          readVerified: async (...given) => inEpoch(await node.reader.readVerified(...given), EPOCH),
        },
      });
      await scan.settle();
      for (let count = 0; count < 6; count += 1) {
        mineEmpty(1);
        await scan.settle();
        if (count === 0) continue;
        const { rows } = await sql`select verified_epoch::int as epoch from chain_cursor`.execute(
          admin.kysely,
        );
        expect(rows).toEqual([{ epoch: EPOCH }]);
      }
    });
  });

  describe('deposit', () => {
    it('records a deposit as DETECTED at the head and VERIFIED at its depth', async () => {
      const scan = await open();
      await scan.settle();
      await clearOutbox();
      const tx = aTx({ to: ALICE, amount: 5n }, { to: STRANGER, amount: 6n }, { to: BOB, amount: 7n });
      const block = node.mine(tx);
      await scan.settle();
      expect(await recordedTransfers(admin.kysely)).toEqual([
        {
          tx: tx.hash,
          position: 'log:0',
          to: ALICE,
          amount: 5n,
          height: 21,
          block: block.hash,
          state: 'DETECTED',
        },
        {
          tx: tx.hash,
          position: 'log:2',
          to: BOB,
          amount: 7n,
          height: 21,
          block: block.hash,
          state: 'DETECTED',
        },
      ]);
      mineEmpty(1);
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 DETECTED`, `${tx.hash} 21 DETECTED`]);
      mineEmpty(1);
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 VERIFIED`, `${tx.hash} 21 VERIFIED`]);
      const ids = (await transferVersions(admin.kysely)).map((t) => t.id);
      const events = await outboxEvents(admin.kysely);
      expect(events.map((event) => event.type)).toEqual([
        'transfer.detected',
        'block.verified',
        'block.verified',
        'block.verified',
      ]);
      expect(events[0]?.data).toEqual({ chain: CHAIN, transferIds: ids });
      expect(events[3]?.data).toEqual({
        chain: CHAIN,
        height: 21,
        blockTimeSeconds: block.timeSeconds,
        transferIds: ids,
      });
    });

    it('records a deposit as VERIFIED if the seen read missed it', async () => {
      const scan = await open();
      const tx = aTx({ to: ALICE, amount: 5n });
      node.faults.hiddenFromSeen.add(tx.hash);
      node.mine(tx);
      mineEmpty(1);
      await scan.settle();
      expect(await states()).toEqual([]);
      mineEmpty(1);
      await clearOutbox();
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 VERIFIED`]);
      const [id] = (await transferVersions(admin.kysely)).map((t) => t.id);
      expect(await outboxEvents(admin.kysely)).toMatchObject([
        { type: 'block.verified', data: { height: 21, transferIds: [id] } },
      ]);
    });

    it('orphans a deposit that the verified read does not return', async () => {
      const scan = await open();
      const tx = aTx({ to: ALICE, amount: 5n });
      node.mine(tx);
      await scan.settle();
      node.faults.hiddenFromVerified.add(tx.hash);
      mineEmpty(1);
      await scan.settle();
      mineEmpty(1);
      await clearOutbox();
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 ORPHANED`]);
      expect(await eventTypes()).toEqual(['transfer.orphaned', 'block.verified']);
      expect(await scan.metrics.render()).toContain(
        'opentill_scanner_contradictions_total{chain="ETH_SEPOLIA",kind="seen-not-verified"',
      );
    });

    it('does not record a deposit of a failed transaction', async () => {
      const scan = await open();
      const tx = aTx({ to: ALICE, amount: 5n });
      node.faults.failed.add(tx.hash);
      node.mine(tx);
      await scan.settle();
      expect(await states()).toEqual([]);
      expect(await scan.metrics.render()).toContain('kind="refuted"');
    });

    it('finds deposits in blocks mined while no scanner ran', async () => {
      const before = await open();
      await before.settle();
      await before.lease.release();
      const txs = Array.from({ length: 50 }, (_, i) =>
        aTx({ to: i % 2 === 0 ? ALICE : STRANGER, amount: BigInt(i + 1) }),
      );
      for (const tx of txs) node.mine(tx);
      const scan = await open();
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ head: 70, seen: 70, verified: 68 });
      const recorded = await recordedTransfers(admin.kysely);
      expect(recorded).toHaveLength(25);
      expect(recorded.filter((t) => t.state === 'VERIFIED')).toHaveLength(24);
    });
  });

  describe('seen cursor', () => {
    it('keeps the seen cursor while the node lags, without a reorganisation', async () => {
      const scan = await open();
      mineEmpty(5);
      await scan.settle();
      const before = await storedCursor(admin.kysely);
      await clearOutbox();
      node.faults.lagBlocks = 4;
      await scan.settle();
      mineEmpty(2);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toEqual(before);
      expect(await eventTypes()).toEqual([]);
      node.faults.lagBlocks = 0;
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ head: 27, seen: 27, verified: 25 });
    });

    it('keeps the seen cursor when the head is below all stored blocks', async () => {
      const scan = await open();
      await scan.settle();
      const before = await storedCursor(admin.kysely);
      node.faults.lagBlocks = 15;
      await expect(scan.tick()).rejects.toMatchObject({ code: 'NODE_FAR_BEHIND', retryable: true });
      expect(await storedCursor(admin.kysely)).toEqual(before);
    });

    it('never passes a block that could not be read', async () => {
      const scan = await open();
      await scan.settle();
      const tx = aTx({ to: ALICE, amount: 5n });
      node.mine(tx);
      for (const method of ['head', 'readSeen', 'confirmTransfers']) {
        node.faults.beforeCall = (called) => {
          if (called === method) throw readerError('RPC_UNAVAILABLE', 'down');
        };
        await expect(scan.tick()).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
        expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 20, head: 20 });
      }
      node.faults.beforeCall = undefined;
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 DETECTED`]);
    });

    it('moves the seen cursor while the verified pass fails and is retried', async () => {
      const scan = await open();
      await scan.settle();
      node.faults.beforeCall = (called) => {
        if (called === 'readVerified') throw readerError('RPC_UNAVAILABLE', 'down');
      };
      mineEmpty(3);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 23, verified: 18 });
      node.faults.beforeCall = undefined;
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 23, verified: 21 });
    });

    it('reports the age of cursor and head, also while every round fails', async () => {
      const scan = await open();
      await scan.settle();
      node.faults.beforeCall = () => {
        throw readerError('RPC_UNAVAILABLE', 'down');
      };
      for (let i = 0; i < 3; i += 1) {
        scan.clock.pass(15_000);
        await expect(scan.tick()).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
      }
      const ages = async (): Promise<readonly (string | undefined)[]> => {
        const text = await scan.metrics.render();
        return ['head', 'verified'].map(
          (what) => new RegExp(`scanner_${what}_age_seconds\\{.*\\} (\\S+)`).exec(text)?.[1],
        );
      };
      expect(await ages()).toEqual(['65', '65']); // 20 s of them passed in settle
      node.faults.beforeCall = undefined;
      mineEmpty(1);
      await scan.tick();
      expect(await ages()).toEqual(['0', '0']);
    });

    it('moves the seen cursor while finality stalls', async () => {
      node.finalize(15);
      const network = { ...MOCK_NETWORK, confirmations: 'finalized' } as const;
      const scan = await openScan({ db: scanner.kysely, reader: node.reader, network });
      await scan.settle();
      node.faults.finalityStalled = true;
      mineEmpty(3);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 23, verified: 15 });
      node.faults.finalityStalled = false;
      node.finalize(22);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 23, verified: 22 });
      node.finalize(19); // another node that is behind
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 23, verified: 22 });
    });
  });

  describe('depth', () => {
    it('counts depth from the last linked block, not from a claimed head', async () => {
      const scan = await open();
      await scan.settle();
      const tx = aTx({ to: ALICE, amount: 5n });
      mineEmpty(3);
      node.mine(tx); // the last block of a range of four: no block above it was read
      node.claimHead(1_000);
      await scan.tick().catch(() => undefined);
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 24, verified: 22 });
      expect(await states()).toEqual([`${tx.hash} 24 DETECTED`]);
      node.claimHead(undefined);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 24, verified: 22 });
      expect(await states()).toEqual([`${tx.hash} 24 DETECTED`]);
      mineEmpty(2);
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 24 VERIFIED`]);
    });
  });

  describe('reorganisation', () => {
    it('orphans removed transfers and records new ones', async () => {
      const scan = await open();
      const [gone, stays] = [aTx({ to: ALICE, amount: 1n }), aTx({ to: BOB, amount: 2n })];
      node.mine(stays);
      node.mine(gone);
      await scan.settle();
      await clearOutbox();
      const fresh = aTx({ to: BOB, amount: 3n });
      node.reorg(1, [fresh]);
      await scan.settle();
      expect(await states()).toEqual(
        [`${stays.hash} 21 DETECTED`, `${gone.hash} 22 ORPHANED`, `${fresh.hash} 22 DETECTED`].sort(),
      );
      expect(await eventTypes()).toEqual(['transfer.orphaned', 'transfer.detected']);
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 22, seenHash: node.head().hash });
    });

    it('changes a moved payment once, without orphaning it', async () => {
      const scan = await open();
      const [tx, other] = [
        aTx({ to: ALICE, amount: 1n }),
        aTx({ to: STRANGER, amount: 9n }, { to: BOB, amount: 2n }),
      ];
      node.mine(tx);
      await scan.settle();
      await clearOutbox();
      const [before] = await transferVersions(admin.kysely);
      const firstTime = await sql<{
        t: number;
      }>`select extract(epoch from first_block_time)::int8 as t from transfer`.execute(admin.kysely);
      node.reorg(1, [], [other, tx]);
      await scan.tick();
      const versions = await transferVersions(admin.kysely);
      expect(versions.filter((t) => t.tx === tx.hash)).toEqual([
        { id: before!.id, tx: tx.hash, state: 'DETECTED', version: before!.version + 1 },
      ]);
      expect((await eventTypes()).filter((type) => type.startsWith('transfer'))).toEqual([
        'transfer.detected',
      ]);
      const after = await sql<{ t: number; height: number }>`
      select extract(epoch from first_block_time)::int8 as t, block_height as height from transfer
      where tx_hash = ${tx.hash}`.execute(admin.kysely);
      expect(after.rows).toEqual([{ t: firstTime.rows[0]!.t, height: 22 }]);
    });

    it('orphans a payment that is mined again as failed, at any depth', async () => {
      const scan = await open();
      const tx = aTx({ to: ALICE, amount: 1n });
      node.mine(tx);
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 DETECTED`]);
      await clearOutbox();
      node.faults.failed.add(tx.hash);
      node.reorg(1, [], [tx]);
      await scan.settle();
      mineEmpty(5);
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 ORPHANED`]);
      const ofTransfers = (await eventTypes()).filter((type) => type.startsWith('transfer'));
      expect(ofTransfers).toEqual(['transfer.orphaned']);
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 27 });
    });

    it('follows a shorter branch if it persists', async () => {
      const scan = await open();
      const tx = aTx({ to: ALICE, amount: 1n });
      mineEmpty(2);
      node.mine(tx);
      await scan.settle();
      node.reorg(3, []);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({
        head: 21,
        seen: 21,
        seenHash: node.head().hash,
      });
      expect(await states()).toEqual([`${tx.hash} 23 ORPHANED`]);
      node.mine(tx);
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 22 DETECTED`]);
    });

    it('changes a moved payment once while the new branch is incomplete', async () => {
      const scan = await open();
      const tx = aTx({ to: ALICE, amount: 1n });
      mineEmpty(2);
      node.mine(tx);
      await scan.settle();
      node.reorg(3, []);
      await scan.tick();
      node.mine();
      await scan.tick();
      node.mine(tx);
      await scan.tick();
      expect(await transferVersions(admin.kysely)).toMatchObject([
        { tx: tx.hash, state: 'DETECTED', version: 2 },
      ]);
      expect(await eventTypes()).not.toContain('transfer.orphaned');
    });

    it('orphans verified transfers below the verified cursor', async () => {
      const scan = await open();
      await scan.settle();
      const [gone, moved] = [aTx({ to: ALICE, amount: 1n }), aTx({ to: BOB, amount: 2n })];
      node.mine(gone, moved);
      mineEmpty(5);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 26, verified: 24 });
      await clearOutbox();
      node.reorg(7, [], [], [], [], [], [], [moved]);
      await scan.tick();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 26, seenHash: node.head().hash });
      expect(await states()).toEqual([`${gone.hash} 21 ORPHANED`, `${moved.hash} 26 DETECTED`].sort());
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 26, verified: 24 });
      const types = await eventTypes();
      expect(types.slice(0, 2)).toEqual(['transfer.orphaned', 'transfer.detected']);
      mineEmpty(2);
      await scan.settle();
      expect(await states()).toEqual([`${gone.hash} 21 ORPHANED`, `${moved.hash} 26 VERIFIED`].sort());
    });

    it('restores all transfers when the old branch returns', async () => {
      const scan = await open();
      const tx = aTx({ to: ALICE, amount: 1n });
      node.mine(tx);
      await scan.settle();
      node.reorg(1, []);
      await scan.settle();
      node.reorg(1, [tx]);
      await scan.settle();
      expect(await transferVersions(admin.kysely)).toMatchObject([
        { tx: tx.hash, state: 'DETECTED', version: 3 },
      ]);
    });

    it('halts the chain below the window and continues when the node returns', async () => {
      const scan = await open();
      mineEmpty(10);
      await scan.settle();
      const before = await storedCursor(admin.kysely);
      await scan.lease.release();
      const fork = createMockNode(CHAIN, { isSparse });
      fork.reorg(1, ...Array.from({ length: 40 }, () => []));
      const halted = await openScan({ db: scanner.kysely, reader: fork.reader });
      halted.observe.failed(CHAIN, 'seen', await halted.tick().catch((error: unknown) => error), 1);
      expect(halted.observe.health(CHAIN)).toEqual({ ok: false, detail: 'halted: REORG_TOO_DEEP' });
      expect(await halted.metrics.render()).toContain(
        'opentill_scanner_halted_bool{chain="ETH_SEPOLIA",service="test"} 1',
      );
      expect(await storedCursor(admin.kysely)).toEqual(before);
      await halted.lease.release();
      await scan.lease.acquire();
      mineEmpty(1);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 31 });
    });

    it('verifies no higher than the new final block after final blocks were dropped', async () => {
      const network = { ...MOCK_NETWORK, maxBlockRange: 4, confirmations: 'finalized' } as const;
      node.finalize(10);
      const scan = await openScan({ db: scanner.kysely, reader: node.reader, network });
      await scan.settle();
      node.finalize(18);
      await scan.tick();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 20, verified: 14 });
      node.reorg(5, [], [], [], []);
      node.finalize(15);
      mineEmpty(2);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 21, verified: 15 });
    });

    it('halts the chain below a finalized block', async () => {
      node.finalize(18);
      const network = { ...MOCK_NETWORK, confirmations: 'finalized' } as const;
      const scan = await openScan({ db: scanner.kysely, reader: node.reader, network });
      await scan.settle();
      node.reorg(2, [], []); // blocks 19 and 20, above the finalized one
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 20, seenHash: node.head().hash });
      const before = await storedCursor(admin.kysely);
      node.reorg(3, [], [], [], []);
      await expect(scan.tick()).rejects.toMatchObject({ code: 'REORG_TOO_DEEP', retryable: false });
      expect(await storedCursor(admin.kysely)).toEqual(before);
    });

    it('takes verified payments back when the base chain replaces safe blocks', async () => {
      node.finalize(18);
      const finality = { tag: 'safe', staleSeconds: 60 } as const;
      const network = { ...MOCK_NETWORK, confirmations: 'finalized', finality } as const;
      const scan = await openScan({ db: scanner.kysely, reader: node.reader, network });
      await scan.settle();
      const tx = aTx({ to: ALICE, amount: 5n });
      node.mine(tx);
      mineEmpty(2);
      node.finalize(22);
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 VERIFIED`]);
      node.reorg(3, [], [], [], []);
      node.finalize(19);
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 ORPHANED`]);
      // A verified sparse range no longer stores block 20.
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 24, verified: isSparse ? 19 : 20 });
    });

    it('takes no safe block for a final one when the tag changes', async () => {
      node.finalize(18);
      const safe = { tag: 'safe', staleSeconds: 60 } as const;
      const network = { ...MOCK_NETWORK, confirmations: 'finalized' } as const;
      const before = await openScan({
        db: scanner.kysely,
        reader: node.reader,
        network: { ...network, finality: safe },
      });
      await before.settle();
      mineEmpty(2);
      node.finalize(21);
      await before.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 22, verified: 21 });
      await before.lease.release();
      node.finalize(10);
      node.reorg(5, [], [], [], [], [], []);
      const after = await openScan({ db: scanner.kysely, reader: node.reader, network, holder: 'after' });
      await after.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seenHash: node.head().hash, verified: 17 });
    });

    it('verifies no block above a safe block that moved down', async () => {
      node.finalize(10);
      const finality = { tag: 'safe', staleSeconds: 60 } as const;
      const network = { ...MOCK_NETWORK, maxBlockRange: 4, confirmations: 'finalized', finality } as const;
      const scan = await openScan({ db: scanner.kysely, reader: node.reader, network });
      await scan.settle();
      node.finalize(18);
      await scan.tick();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 20, verified: 14 });
      node.finalize(12); // blocks above are not replaced yet
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 20, verified: 14 });
      node.finalize(15);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 20, verified: 15 });
    });

    it('stops the verified pass at a reorganisation between the passes', async () => {
      const scan = await open();
      const tx = aTx({ to: ALICE, amount: 1n });
      node.mine(tx);
      await scan.settle();
      mineEmpty(2);
      node.faults.beforeCall = (called) => {
        if (called !== 'readVerified') return;
        node.faults.beforeCall = undefined;
        node.reorg(3, [], [], []);
      };
      await scan.tick();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 23, verified: 20 - 1 });
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 ORPHANED`]);
      expect(await storedCursor(admin.kysely)).toMatchObject({
        seen: 23,
        verified: 21,
        seenHash: node.head().hash,
      });
    });
  });

  describe('lease', () => {
    const runOut = (): Promise<unknown> =>
      sql`update scanner_evm.lease set expires_at = now() - interval '1 second'`.execute(admin.kysely);

    it('lets one replica scan while the others stand by', async () => {
      const [first, second] = [await openAs('first'), await openAs('second')];
      await first.settle();
      const { token } = await storedCursor(admin.kysely);
      mineEmpty(3);
      await second.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 20, token });
      await first.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 23, token });
    });

    it("prevents writes of a replica that slept past the lease's expiry", async () => {
      const first = await openAs('first');
      await first.settle();
      await runOut();
      const second = await openAs('second');
      await second.settle();
      const tx = aTx({ to: ALICE, amount: 5n });
      node.mine(tx);
      await clearOutbox();
      const before = await storedCursor(admin.kysely);
      expect(await first.tick()).toBeUndefined();
      expect(await storedCursor(admin.kysely)).toEqual(before);
      expect(await states()).toEqual([]);
      expect(await eventTypes()).toEqual([]);
      expect(first.lease.current()).toBeUndefined();
      await second.settle();
      expect(await states()).toEqual([`${tx.hash} 21 DETECTED`]);
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 21, token: before.token + 1 });
    });

    it('ends a round before it writes when another replica takes the lease', async () => {
      let isTaken = false;
      const first = await openScan({
        db: scanner.kysely,
        reader: node.reader,
        holder: 'first',
        wrapStore: (store) => ({
          ...store,
          async findRecipients(...args) {
            await runOut();
            isTaken = (await openAs('second')).lease.current() !== undefined;
            return store.findRecipients(...args);
          },
        }),
      });
      await first.settle();
      const before = await storedCursor(admin.kysely);
      node.mine(aTx({ to: ALICE, amount: 5n }));
      expect(await first.tick()).toBeUndefined();
      expect(isTaken).toBe(true);
      expect(await storedCursor(admin.kysely)).toEqual(before);
      expect(await states()).toEqual([]);
    });

    it('loads the state again when it takes its lease anew, even with the same token', async () => {
      let loads = 0;
      const scan = await openScan({
        db: scanner.kysely,
        reader: node.reader,
        wrapStore: (store) => ({
          ...store,
          loadState(...args) {
            loads += 1;
            return store.loadState(...args);
          },
        }),
      });
      await scan.settle();
      const [before, loadsBefore] = [scan.lease.current()!, loads];
      // A failover lost the take, so its token is given again.
      await sql`update scanner_evm.lease set fencing_token = fencing_token - 1, expires_at = now()`.execute(
        admin.kysely,
      );
      expect(await scan.lease.acquire()).toMatchObject({ fencingToken: before.fencingToken });
      mineEmpty(1);
      await scan.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 21 });
      expect(loads - loadsBefore).toBe(1);
    });

    it('keeps an expired lease valid if no replica took it', async () => {
      const first = await openAs('first');
      await first.settle();
      await runOut();
      mineEmpty(1);
      await first.settle();
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 21 });
    });
  });

  describe('round', () => {
    it('makes one call per idle round, four per block, one more per deposit proof', async () => {
      const scan = await open();
      await scan.settle();
      const callsOf = async (work: () => void): Promise<readonly string[]> => {
        work();
        node.calls.length = 0;
        expect(await scan.tick()).toBeUndefined();
        return [...node.calls];
      };
      expect(await callsOf(() => undefined)).toEqual(['head']);
      expect(await callsOf(() => mineEmpty(1))).toEqual([
        'head',
        'readSeen',
        'confirmBlock',
        'readVerified',
        'confirmBlock',
      ]);
      const deposit = [
        'head',
        'readSeen',
        'confirmTransfers',
        'confirmBlock',
        'readVerified',
        'confirmBlock',
      ];
      expect(await callsOf(() => node.mine(aTx({ to: ALICE, amount: 1n }, { to: BOB, amount: 1n })))).toEqual(
        deposit,
      );
      mineEmpty(1);
      await scan.settle();
      expect(await callsOf(() => mineEmpty(1))).toEqual([
        'head',
        'readSeen',
        'confirmBlock',
        'readVerified',
        'confirmBlock',
        'confirmTransfers',
      ]);
      expect(await callsOf(() => node.mine(aTx({ to: STRANGER, amount: 1n })))).toEqual([
        'head',
        'readSeen',
        'confirmBlock',
        'readVerified',
        'confirmBlock',
      ]);
    });
  });

  describe('paused chain', () => {
    const alarms = async (scan: TestScan): Promise<readonly string[]> =>
      [
        ...(await scan.metrics.render()).matchAll(/^opentill_scanner_alarm_bool\{.*kind="([^"]+)".*\} 1$/gm),
      ].map((f) => f[1]!);

    it('reads no block of a paused chain by any replica until the pause ends', async () => {
      const scan = await open();
      await scan.settle();
      await sql`insert into chain_pause (chain, operator, reason) values (${CHAIN}, 'ann', 'node is moved')`.execute(
        admin.kysely,
      );
      const tx = aTx({ to: ALICE, amount: 5n });
      node.mine(tx);
      node.calls.length = 0;
      await scan.settle();
      expect(node.calls).toEqual([]);
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 20 });
      expect(await alarms(scan)).toEqual(['paused']);
      expect(scan.observe.health(CHAIN)).toEqual({ ok: true, detail: 'paused: node is moved' });
      expect(await (await openAs('second')).tick()).toBeUndefined();
      await scan.lease.release();
      const second = await openAs('third');
      await second.settle();
      expect(node.calls).toEqual([]);
      expect(await alarms(second)).toEqual(['paused']);
      await sql`delete from chain_pause`.execute(admin.kysely);
      await second.settle();
      expect(await states()).toEqual([`${tx.hash} 21 DETECTED`]);
      expect(await alarms(second)).toEqual([]);
    });
  });

  describe('rescan', () => {
    const ask = (from: number, to: number): Promise<unknown> =>
      sql`insert into rescan_request (chain, from_height, to_height) values (${CHAIN}, ${from}, ${to})`.execute(
        admin.kysely,
      );
    const answers = async (): Promise<unknown> =>
      (
        await sql`select found, done_at is not null as done from rescan_request order by request_id`.execute(
          admin.kysely,
        )
      ).rows;

    it('records missing transfers below the verified cursor once', async () => {
      const [old, older] = [aTx({ to: ALICE, amount: 1n }), aTx({ to: BOB, amount: 2n })];
      node = createMockNode(CHAIN, { isSparse });
      node.mine(older);
      mineEmpty(9);
      node.mine(old);
      mineEmpty(9);
      const scan = await open();
      await scan.settle();
      expect(await states()).toEqual([]);
      await clearOutbox();
      await ask(0, 100);
      await ask(5, 12);
      await scan.settle();
      await scan.settle();
      expect(await answers()).toEqual([
        { found: 2, done: true },
        { found: 0, done: true },
      ]);
      expect(await states()).toEqual([`${old.hash} 11 VERIFIED`, `${older.hash} 1 VERIFIED`].sort());
      expect(await eventTypes()).toEqual(['block.verified']);
      const before = await transferVersions(admin.kysely);
      await ask(0, 18);
      await scan.settle();
      expect(await transferVersions(admin.kysely)).toEqual(before);
    });

    it('orphans no transfer in a rescan', async () => {
      const scan = await open();
      await scan.settle();
      const tx = aTx({ to: ALICE, amount: 1n });
      node.mine(tx);
      mineEmpty(4);
      await scan.settle();
      node.faults.hiddenFromVerified.add(tx.hash);
      await ask(20, 22);
      await scan.settle();
      expect(await states()).toEqual([`${tx.hash} 21 VERIFIED`]);
      expect(await answers()).toEqual([{ found: 0, done: true }]);
      expect(await scan.metrics.render()).toContain('kind="rescan"');
    });

    it('continues a rescan after a replica change without delaying new heads', async () => {
      const txs = [30, 90, 150, 210].map(() => aTx({ to: ALICE, amount: 1n }));
      node = createMockNode(CHAIN, { isSparse });
      for (let height = 1; height <= 220; height += 1)
        node.mine(...(height % 60 === 30 ? [txs[(height - 30) / 60]!] : []));
      const first = await openAs('first');
      await first.settle();
      await ask(0, 10 ** 9);
      node.reads.length = 0;
      let rounds = 0;
      let seen = 0;
      for (; rounds < 6; rounds += 1) {
        first.clock.pass(5_000);
        node.mine();
        await first.tick();
        seen = (await storedCursor(admin.kysely)).seen;
        expect(seen).toBe(node.head().height); // each round starts with the head
      }
      const halfway = await answers();
      expect(halfway).toEqual([{ found: 2, done: false }]);
      await sql`update scanner_evm.lease set expires_at = now()`.execute(admin.kysely);
      const second = await openAs('second');
      node.reads.length = 0;
      await second.settle();
      expect(await answers()).toEqual([{ found: 4, done: true }]);
      const lowest = Math.min(...node.reads.map((read) => read.from));
      expect(lowest).toBe(6 * 4 * MOCK_NETWORK.maxBlockRange);
      expect((await states()).map((line) => line.split(' ')[2])).toEqual(Array(4).fill('VERIFIED'));
    });

    it('retries a failed rescan without delaying the scan or skipping a block', async () => {
      const scan = await open();
      await scan.settle();
      await ask(0, 10);
      node.faults.beforeCall = (method) => {
        if (method === 'readVerified') throw readerError('RPC_UNAVAILABLE', 'down');
      };
      await scan.settle();
      expect(await answers()).toEqual([{ found: null, done: false }]);
      expect(await scan.metrics.render()).toMatch(/opentill_scanner_errors_total\{.*part="rescan"/);
      node.faults.beforeCall = undefined;
      await scan.settle();
      expect(await answers()).toEqual([{ found: 0, done: true }]);
    });

    it('finishes a rescan of blocks above the verified cursor at once', async () => {
      const scan = await open();
      await scan.settle();
      await ask(500, 600);
      await scan.settle();
      expect(await answers()).toEqual([{ found: 0, done: true }]);
    });
  });
});
