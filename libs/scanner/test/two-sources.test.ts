import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { TransferPosition } from '@opentill/chain/transfer';
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
  recordedTransfers,
  storedCursor,
  type TestScan,
  type TestScanOptions,
} from './scan-harness.ts';

const ALICE = address('alice');

const database = await openTestDatabase();
const { admin } = database;
const scanner = database.open('scanner_evm');

beforeAll(async () => {
  await giveOut(admin.kysely, [ALICE]);
});

/** EVM readers return only some headers of a range (sparse). */
describe.each([{ isSparse: false }, { isSparse: true }])('sparse: $isSparse', ({ isSparse }) => {
  /** `node` may return wrong data; `witness` confirms blocks. Families compare sources in their own readers. */
  let node: MockNode;
  let witness: MockNode;

  beforeEach(async () => {
    await forgetScans(admin.kysely);
    node = createMockNode(CHAIN, { isSparse });
    witness = createMockNode(CHAIN, { isSparse });
    mineTruth(...Array.from({ length: 20 }, () => []));
  });

  function mineTruth(...blocks: readonly (readonly MockTx[])[]): void {
    for (const txs of blocks) {
      node.mine(...txs);
      witness.mine(...txs);
    }
  }

  function invent(count: number): void {
    for (let i = 0; i < count; i += 1) node.mine();
  }

  const open = (options: Partial<TestScanOptions> = {}): Promise<TestScan> => {
    const reader: ChainReader = {
      ...node.reader,
      confirmBlock: witness.reader.confirmBlock,
      async readVerified(from, to, ...rest) {
        await witness.reader.headers(from, to);
        return node.reader.readVerified(from, to, ...rest);
      },
    };
    return openScan({ db: scanner.kysely, reader, ...options });
  };
  const states = async (): Promise<readonly string[]> =>
    (await recordedTransfers(admin.kysely)).map((t) => `${t.height} ${t.state}`);
  const cursor = async () => storedCursor(admin.kysely);

  async function raised(scan: TestScan): Promise<readonly string[]> {
    const text = await scan.metrics.render();
    return [...text.matchAll(/^opentill_scanner_alarm_bool\{.*kind="([^"]+)".*\} 1$/gm)].map(
      (found) => found[1]!,
    );
  }

  describe('depth with two sources', () => {
    it('does not count invented blocks for depth, though they are shown', async () => {
      const scan = await open();
      await scan.settle();
      mineTruth([aTx({ to: ALICE, amount: 5n })]);
      invent(11);
      await scan.settle();
      expect(await cursor()).toMatchObject({ seen: 32, verified: 19 });
      expect(await states()).toEqual(['21 DETECTED']);
      expect(await scan.metrics.render()).toMatch(
        /opentill_scanner_errors_total\{.*code="DEPTH_NOT_VOUCHED"/,
      );
      scan.clock.pass(61_000);
      await scan.tick();
      expect(await raised(scan)).toContain('verification-failing');
      // The witness mines them one by one; each stored one makes more blocks deep enough.
      witness.mine();
      await scan.settle();
      expect(await states()).toEqual(['21 DETECTED']);
      witness.mine();
      if (isSparse) witness.mine(); // 24 ends a range of four
      await scan.settle();
      expect(await states()).toEqual(['21 VERIFIED']);
      expect(await cursor()).toMatchObject({ verified: isSparse ? 22 : 21 });
      for (let i = 0; i < (isSparse ? 8 : 9); i += 1) witness.mine();
      await scan.settle();
      expect(await cursor()).toMatchObject({ verified: 30 });
    });

    it('does not count blocks for depth that the other source lacks', async () => {
      const scan = await open();
      await scan.settle();
      mineTruth([aTx({ to: ALICE, amount: 5n })]);
      node.reorg(0);
      invent(5); // with other hashes
      for (let i = 0; i < (isSparse ? 4 : 2); i += 1) witness.mine(); // up to a stored one
      for (let i = 0; i < 4; i += 1) await scan.settle();
      expect(await states()).toEqual(['21 DETECTED']);
      expect(await raised(scan)).toContain('sources-disagree');
    });

    it('does not count invented blocks for depth when catching up', async () => {
      const before = await open();
      await before.settle();
      await before.lease.release();
      const blocks = Array.from({ length: 30 }, () => [aTx({ to: ALICE, amount: 1n })]);
      mineTruth(...blocks);
      invent(11);
      const scan = await open();
      for (let i = 0; i < 3; i += 1) await scan.settle();
      expect(await cursor()).toMatchObject({ seen: 61, verified: 48 });
      expect((await states()).filter((state) => state.endsWith('VERIFIED'))).toHaveLength(28);
      for (let i = 0; i < 11; i += 1) witness.mine();
      await scan.settle();
      expect(await cursor()).toMatchObject({ verified: 59 });
    });

    it.each<[string, ScanNetwork['finality'] & object, number]>([
      ['minDepth', { staleSeconds: 600, minDepth: 5 }, 17],
      ['fallbackDepth', { staleSeconds: 30, minDepth: 2, fallbackDepth: 5 }, 17],
    ])('does not count invented blocks for %s', async (name, finality, verified) => {
      const network: ScanNetwork = { ...MOCK_NETWORK, confirmations: 'finalized', finality };
      node.finalize(name === 'minDepth' ? 21 : 10);
      const scan = await open({ network });
      for (let i = 0; i < 4; i += 1) await scan.settle();
      mineTruth([]);
      invent(8);
      for (let i = 0; i < 3; i += 1) await scan.settle();
      expect(await cursor()).toMatchObject({ seen: 29, verified });
    });

    it('requires confirmation of the first block of a new chain', async () => {
      invent(11);
      const scan = await open();
      await expect(scan.tick()).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
      for (let i = 0; i < 11; i += 1) witness.mine();
      await scan.settle();
      expect(await cursor()).toMatchObject({ seen: 31, verified: 29 });
    });
  });

  describe('branch below the verified block', () => {
    const verifiedPayment = async (scan: TestScan): Promise<void> => {
      await scan.settle();
      mineTruth([aTx({ to: ALICE, amount: 5n })], [], [], []);
      await scan.settle();
      expect(await states()).toEqual(['21 VERIFIED']);
    };
    const empty = (count: number): readonly (readonly MockTx[])[] => Array.from({ length: count }, () => []);

    it('follows a branch below the verified block only if both sources show it', async () => {
      const scan = await open();
      await verifiedPayment(scan);
      const before = await cursor();
      node.reorg(5, ...empty(9));
      for (let i = 0; i < 4; i += 1) {
        scan.clock.pass(1_000);
        expect(await scan.tick()).toBe('soon');
        scan.observe.ticked(CHAIN);
      }
      expect(await cursor()).toEqual(before);
      expect(await states()).toEqual(['21 VERIFIED']);
      expect(await raised(scan)).toEqual(['sources-disagree']);
      witness.reorg(5, ...empty(9));
      await scan.settle();
      expect(await states()).toEqual(['21 ORPHANED']);
      expect(await cursor()).toMatchObject({ seen: 28, seenHash: node.head().hash });
      expect(await raised(scan)).toEqual([]);
    });

    it('follows a branch above the verified block at once', async () => {
      const scan = await open();
      await verifiedPayment(scan);
      node.reorg(2, ...empty(3));
      await scan.settle();
      expect(await cursor()).toMatchObject({ seen: 25, seenHash: node.head().hash });
    });

    it.each([
      ['finalized blocks', { confirmations: 'finalized' } as const, 5],
      ['every stored block', {}, 20],
    ])('halts the chain below %s only when the other source shows it too', async (_, special, depth) => {
      node.finalize(22);
      const scan = await open({ network: { ...MOCK_NETWORK, ...special } });
      await verifiedPayment(scan);
      const before = await cursor();
      node.reorg(depth, ...empty(depth + 1));
      expect(await scan.tick()).toBe('soon');
      expect(await cursor()).toEqual(before);
      witness.reorg(depth, ...empty(depth + 1));
      await expect(scan.tick()).rejects.toMatchObject({ code: 'REORG_TOO_DEEP' });
      expect(await states()).toEqual(['21 VERIFIED']);
    });
  });

  describe('payment time', () => {
    it('compares block times with the confirming source, caught up or followed', async () => {
      const scan = await open({
        reader: {
          ...node.reader,
          // One source shifts the times of inner blocks; the other source confirms.
          async readVerified(...args) {
            const range = await node.reader.readVerified(...args);
            const [first, ...others] = range.headers;
            const last = others.pop();
            if (first === undefined || last === undefined) return range;
            const shifted = others.map((header) => ({ ...header, timeSeconds: header.timeSeconds + 1 }));
            return { ...range, headers: [first, ...shifted, last] };
          },
          async confirmTransfers(candidates, options) {
            const truth = new Map((await witness.reader.headers(0, 60)).map((block) => [block.hash, block]));
            const doubted = (options?.headers ?? []).slice(1, -1);
            const paidIn = doubted.filter(({ hash }) =>
              candidates.some(({ blockHash }) => blockHash === hash),
            );
            if (paidIn.some(({ hash, timeSeconds }) => truth.get(hash)?.timeSeconds !== timeSeconds))
              throw readerError('INCONSISTENT_ANSWER', 'a block is given different times', {});
            return node.reader.confirmTransfers(candidates);
          },
        },
      });
      await scan.settle();
      mineTruth(...Array.from({ length: 41 }, () => [aTx({ to: ALICE, amount: 5n })]));
      await scan.tick().catch(() => undefined);
      expect((await states()).filter((state) => state.endsWith('VERIFIED'))).toEqual([]);
    });
  });

  describe('rescan', () => {
    const ask = (): Promise<unknown> =>
      sql`insert into rescan_request (chain, from_height, to_height) values (${CHAIN}, 0, 22)`.execute(
        admin.kysely,
      );
    const answer = async (): Promise<unknown> =>
      (await sql`select found, done_at is not null as done from rescan_request`.execute(admin.kysely))
        .rows[0];

    it('does not record a known transfer at another position', async () => {
      const scan = await open();
      await scan.settle();
      mineTruth(
        [aTx({ to: ALICE, amount: 5n }, { to: ALICE, amount: 5n }, { to: ALICE, amount: 6n })],
        [],
        [],
      );
      await scan.settle();
      const before = await recordedTransfers(admin.kysely);
      expect(before).toHaveLength(3);
      // Its receipts contain one more log before ours, so every position is one too high.
      const shifted: ChainReader = {
        ...node.reader,
        async confirmTransfers(candidates) {
          const { confirmed, refuted } = await node.reader.confirmTransfers(candidates);
          const shift = (position: string) =>
            `log:${Number(position.slice('log:'.length)) + 1}` as TransferPosition;
          return { confirmed: confirmed.map((t) => ({ ...t, position: shift(t.position) })), refuted };
        },
      };
      await scan.lease.release();
      await ask();
      const rescanning = await open({ reader: shifted });
      await rescanning.settle();
      expect(await recordedTransfers(admin.kysely)).toEqual(before);
      expect(await answer()).toEqual({ found: 0, done: true });
      expect(await rescanning.metrics.render()).toMatch(
        /opentill_scanner_contradictions_total\{.*kind="rescan"/,
      );
    });

    it('retries a rescan with differing branches or a failed commit, delaying only it', async () => {
      let failing: 'branches' | 'commit' | undefined = 'branches';
      const reader: ChainReader = {
        ...node.reader,
        async readVerified(...args) {
          const range = await node.reader.readVerified(...args);
          if (failing !== 'branches') return range;
          const [first, ...others] = range.headers;
          return { ...range, headers: [{ ...first!, parentHash: '0xelsewhere' as never }, ...others] };
        },
      };
      const scan = await open({
        reader,
        wrapStore: (store) => ({
          ...store,
          commit(...args) {
            if (failing === 'commit' && args[3].rescan !== undefined) throw new Error('a key twice');
            return store.commit(...args);
          },
        }),
      });
      await scan.settle();
      await ask();
      await scan.settle();
      expect(await answer()).toEqual({ found: null, done: false });
      failing = 'commit';
      mineTruth([], []);
      await scan.settle();
      expect(await answer()).toEqual({ found: null, done: false });
      expect(await cursor()).toMatchObject({ seen: 22, verified: 20 });
      const errors = await scan.metrics.render();
      expect(errors).toMatch(/opentill_scanner_errors_total\{.*part="rescan",code="BRANCHES_DIFFER"/);
      expect(errors).toMatch(/opentill_scanner_errors_total\{.*part="rescan",code="UNKNOWN"/);
      failing = undefined;
      await scan.settle();
      expect(await answer()).toEqual({ found: 0, done: true });
    });
  });
});
