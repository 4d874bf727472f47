import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { FatesRead, TransactionFate } from '@opentill/chain/own-transaction';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { aHotWalletAddress } from '@opentill/testkit/payout-scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { aTx, createMockNode, type MockNode, type MockTx } from './mock-node.ts';
import {
  address,
  CHAIN,
  closeNonceOf,
  fateVersions,
  forgetScans,
  giveOut,
  MOCK_NETWORK,
  openScan,
  outboxEvents,
  recordedFates,
  recordedTransfers,
  signPayout,
  storedCursor,
  fateEvents,
  type TestScan,
  type TestScanOptions,
} from './scan-harness.ts';

const [ALICE, HOT, TRON_HOT] = [address('alice'), address('hotwallet'), address('other')];

const database = await openTestDatabase();
const { admin } = database;
const signer = database.open('signer');
const scanner = database.open('scanner_evm');

beforeAll(async () => {
  await giveOut(admin.kysely, [ALICE]);
  await aHotWalletAddress(admin.kysely, { family: 'EVM', address: HOT });
  await aHotWalletAddress(admin.kysely, { family: 'TRON', address: TRON_HOT });
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

  const open = (options: Partial<TestScanOptions> = {}): Promise<TestScan> =>
    openScan({ db: scanner.kysely, reader: node.reader, ...options });
  async function openSettled(options: Partial<TestScanOptions> = {}): Promise<TestScan> {
    const scan = await open(options);
    await scan.settle();
    return scan;
  }
  const sign = (options: Parameters<typeof signPayout>[1] = {}): Promise<MockTx> =>
    signPayout({ signer: signer.kysely, admin: admin.kysely }, options);
  const fates = (): Promise<readonly string[]> => recordedFates(admin.kysely);
  const verifiedHeight = async (): Promise<number> => (await storedCursor(admin.kysely)).verified;
  const failed = (tx: MockTx): unknown => node.faults.failed.add(tx.hash);

  /** One event for every version of every outcome. */
  async function expectAllEvents(): Promise<void> {
    expect(await fateEvents(admin.kysely)).toEqual(await fateVersions(admin.kysely));
  }

  describe('own transaction', () => {
    it('records an own transaction as MINED, then VERIFIED, with an event each', async () => {
      const scan = await openSettled();
      const tx = await sign();
      await scan.settle();
      expect(await fates()).toEqual([]);
      const block = node.mine(tx);
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} MINED 21`]);
      const { rows } =
        await sql`select block_hash, extract(epoch from block_time)::int8 as time, delivered, network_fee,
      succeeded, family, version from own_transaction_fate`.execute(admin.kysely);
      expect(rows).toEqual([
        {
          block_hash: block.hash,
          time: block.timeSeconds,
          delivered: 100n,
          network_fee: 21_000n,
          succeeded: true,
          family: 'EVM',
          version: 1,
        },
      ]);
      mineEmpty(2);
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
      expect(await verifiedHeight()).toBe(21);
      const events = (await outboxEvents(admin.kysely)).filter(({ type }) => type === 'fate.changed');
      expect(events.map(({ data }) => data)).toEqual([
        { chain: CHAIN, txHashes: [tx.hash] },
        { chain: CHAIN, txHashes: [tx.hash] },
      ]);
      await expectAllEvents();
    });

    it('records an own transaction in the commit that moves the cursor over its block', async () => {
      const moves: string[] = [];
      const scan = await open({
        wrapStore: (store) => ({
          ...store,
          async commit(...args) {
            const committed = await store.commit(...args);
            const { seen, verified } = await storedCursor(admin.kysely);
            moves.push(
              [`${seen}/${verified}`, ...(await fates()).map((fate) => fate.split(' ')[1])].join(' '),
            );
            return committed;
          },
        }),
      });
      await scan.settle();
      const tx = await sign();
      moves.length = 0;
      node.mine(tx);
      await scan.settle();
      mineEmpty(2);
      await scan.settle();
      expect(moves).toEqual(['21/18 MINED', '21/19 MINED', '23/19 MINED', '23/21 VERIFIED']);
    });

    it('records own transactions that failed, delivered less or paid native coin', async () => {
      const scan = await openSettled();
      const [reverted, short, native] = [
        await sign(),
        await sign(),
        await sign({ isNative: true, amount: 7n }),
      ];
      failed(reverted);
      node.mine(reverted, { ...short, pays: [{ to: address('payee'), amount: 99n }] }, native);
      mineEmpty(2);
      await scan.settle();
      expect(await fates()).toEqual(
        [
          `${reverted.hash} VERIFIED 21 failed`,
          `${short.hash} VERIFIED 21 delivered 99`,
          `${native.hash} VERIFIED 21`,
        ].sort(),
      );
    });

    it('requests own transactions together, and none that waits for depth', async () => {
      const scan = await openSettled();
      const callsOf = async (work: () => void): Promise<readonly string[]> => {
        work();
        node.calls.length = 0;
        node.fateReads.length = 0;
        await scan.tick();
        return node.fateReads.splice(0);
      };
      expect(await callsOf(() => undefined)).toEqual([]);
      expect(await callsOf(() => node.mine())).toEqual([]);
      const [a, b, c] = [await sign(), await sign(), await sign()];
      // Transactions signed since the last commit are noticed at the next one.
      expect(await callsOf(() => undefined)).toEqual([]);
      expect(await callsOf(() => node.mine())).toEqual(['3 by one', '3 by two']);
      expect(await callsOf(() => undefined)).toEqual(['3 by one']);
      expect(await callsOf(() => node.mine(a, b))).toEqual(['3 by one', '1 by two']);
      expect(await callsOf(() => undefined)).toEqual(['1 by one']);
      expect(await callsOf(() => node.mine(c))).toEqual(['1 by one']);
      expect(await callsOf(() => undefined)).toEqual([]);
      expect(await callsOf(() => node.mine())).toEqual(['2 by two']);
      expect(await callsOf(() => node.mine())).toEqual(['1 by two']);
      expect(await callsOf(() => node.mine())).toEqual([]);
      expect((await fates()).map((fate) => fate.split(' ')[1])).toEqual(['VERIFIED', 'VERIFIED', 'VERIFIED']);
      expect(node.calls).toEqual(['head', 'readSeen', 'confirmBlock', 'readVerified', 'confirmBlock']);
    });

    it('finds a receipt at the next poll if it appears after its block', async () => {
      const scan = await openSettled();
      const tx = await sign();
      node.faults.withoutReceipt.add(tx.hash);
      node.mine(tx);
      await scan.tick();
      expect(await fates()).toEqual([]);
      node.faults.withoutReceipt.clear();
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} MINED 21`]);
      await expectAllEvents();
    });

    it('stops asking for a transaction once another one of its nonce is VERIFIED', async () => {
      const scan = await openSettled();
      const first = await sign();
      const second = await sign({ replaces: first });
      node.mine(second);
      mineEmpty(2);
      await scan.settle();
      expect(await fates()).toEqual([`${second.hash} VERIFIED 21`]);
      node.fateReads.length = 0;
      mineEmpty(1);
      await scan.settle();
      expect(node.fateReads).toEqual([]);
      await closeNonceOf(signer.kysely, second);
      mineEmpty(1);
      await scan.settle();
      expect(node.fateReads).toEqual([]);
    });
  });

  describe('own transaction mined before it was requested', () => {
    it('verifies an own transaction at once in blocks that are caught up with', async () => {
      const scan = await openSettled();
      await scan.lease.release();
      const [old, recent, pending] = [await sign(), await sign(), await sign()];
      failed(old);
      node.mine(old);
      mineEmpty(60);
      node.mine(recent);
      const again = await open({ holder: 'replica-2' });
      await again.settle();
      expect(await fates()).toEqual([`${old.hash} VERIFIED 21 failed`, `${recent.hash} MINED 82`].sort());
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 82, verified: 80 });
      node.mine(pending);
      mineEmpty(2);
      await again.settle();
      expect((await fates()).filter((fate) => fate.includes('VERIFIED'))).toHaveLength(3);
      await expectAllEvents();
    });

    it('finds an own transaction below all stored blocks if two sources confirm it', async () => {
      const tx = aTx({ to: address('payee'), amount: 100n });
      node.mine(tx);
      mineEmpty(40);
      const scan = await openSettled();
      expect((await storedCursor(admin.kysely)).blocks[0]).toBe('0xblock-49-0');
      // Signed and sent by a signer whose rows were restored from a backup later.
      const row = await sign();
      await sql`insert into own_transaction
      select chain, ${tx.hash}, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw, fee_terms,
        signed_at from own_transaction where tx_hash = ${row.hash}`.execute(signer.kysely);
      node.mine();
      node.reads.length = 0;
      await scan.settle();
      expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
      expect(node.reads.filter(({ to }) => to === 21)).toEqual([
        { method: 'readVerified', from: 21, to: 21 },
      ]);
      await expectAllEvents();
    });

    it('finds an own transaction at the next poll in an already verified block', async () => {
      const scan = await openSettled();
      const tx = await sign();
      node.faults.withoutReceipt.add(tx.hash);
      node.mine(tx);
      mineEmpty(4);
      await scan.settle();
      expect(await fates()).toEqual([]);
      expect(await verifiedHeight()).toBe(23);
      node.faults.withoutReceipt.clear();
      node.fateReads.length = 0;
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
      expect(node.fateReads).toEqual(['1 by one', '1 by two']);
    });
  });

  describe('reorganisation of own transactions', () => {
    it('moves a transaction in the commit that removes its block', async () => {
      const scan = await openSettled();
      const tx = await sign();
      node.mine(tx);
      await scan.settle();
      node.reorg(1, [], [tx]);
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} MINED 22`]);
      expect(await fateVersions(admin.kysely)).toEqual({ [tx.hash]: 2 });
      await expectAllEvents();
    });

    it('records a transaction mined again at the same height as failed', async () => {
      const scan = await openSettled();
      const tx = await sign();
      node.mine(tx);
      await scan.settle();
      failed(tx);
      node.reorg(1, [tx]);
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} MINED 21 failed`]);
      mineEmpty(2);
      await scan.settle();
      expect(await fates()).toEqual([`${tx.hash} VERIFIED 21 failed`]);
      expect(await fateVersions(admin.kysely)).toEqual({ [tx.hash]: 3 });
      await expectAllEvents();
    });

    it('orphans a transaction, which may be mined again later', async () => {
      const scan = await openSettled();
      const tx = await sign();
      node.mine(tx);
      await scan.settle();
      node.reorg(1, [], []);
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} ORPHANED 21`]);
      mineEmpty(5);
      await scan.settle();
      expect(await fates()).toEqual([`${tx.hash} ORPHANED 21`]);
      expect(await fateVersions(admin.kysely)).toEqual({ [tx.hash]: 2 });
      node.mine(tx);
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} MINED 28`]);
      await expectAllEvents();
    });

    it('orphans or moves VERIFIED transactions below the verified cursor', async () => {
      const scan = await openSettled();
      const [moves, goes, stays] = [await sign(), await sign(), await sign()];
      node.mine(stays);
      node.mine(moves, goes);
      mineEmpty(2);
      await scan.settle();
      for (const tx of [moves, goes, stays]) await closeNonceOf(signer.kysely, tx);
      expect((await fates()).every((fate) => fate.includes('VERIFIED'))).toBe(true);
      node.reorg(3, [], [], [moves], []);
      await scan.tick();
      expect(await fates()).toEqual(
        [`${moves.hash} MINED 24`, `${goes.hash} ORPHANED 22`, `${stays.hash} VERIFIED 21`].sort(),
      );
      node.mine(goes);
      mineEmpty(2);
      await scan.settle();
      expect(await fates()).toEqual(
        [`${moves.hash} VERIFIED 24`, `${goes.hash} VERIFIED 26`, `${stays.hash} VERIFIED 21`].sort(),
      );
      await expectAllEvents();
    });

    it('mines another transaction of the nonce below the verified cursor', async () => {
      const scan = await openSettled();
      const first = await sign();
      const second = await sign({ replaces: first });
      node.mine(first);
      mineEmpty(3);
      await scan.settle();
      await closeNonceOf(signer.kysely, first);
      node.reorg(4, [], [second], [], [], []);
      await scan.settle();
      expect(await fates()).toEqual([`${first.hash} ORPHANED 21`, `${second.hash} VERIFIED 22`].sort());
      node.fateReads.length = 0;
      mineEmpty(1);
      await scan.settle();
      expect(node.fateReads).toEqual([]);
      await expectAllEvents();
    });

    it('orphans a transaction above the end of a shorter branch', async () => {
      const scan = await openSettled();
      const tx = await sign();
      node.mine();
      node.mine(tx);
      await scan.settle();
      node.reorg(2, []);
      await scan.settle();
      // In a gap, a lagging node could show the same head.
      if (isSparse) node.mine();
      await scan.settle();
      expect(await fates()).toEqual([`${tx.hash} ORPHANED 22`]);
      await expectAllEvents();
    });

    it('orphans a transaction while no source answers, and finds it later', async () => {
      const scan = await openSettled();
      const tx = await sign();
      node.mine(tx);
      await scan.settle();
      node.faults.beforeCall = (method) => {
        if (method === 'readFates') throw readerError('RPC_UNAVAILABLE', 'down');
      };
      node.reorg(1, [tx], []);
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} ORPHANED 21`]);
      node.faults.beforeCall = undefined;
      scan.clock.pass(1_000);
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} MINED 21`]);
      await expectAllEvents();
    });
  });

  describe('receipt failures', () => {
    const alarms = async (scan: TestScan): Promise<readonly string[]> => {
      const text = await scan.metrics.render();
      return [...text.matchAll(/^opentill_scanner_alarm_bool\{.*kind="([^"]+)".*\} 1$/gm)].map(
        (found) => found[1]!,
      );
    };

    it('raises an alarm without delaying cursors or deposits, and catches up', async () => {
      const scan = await openSettled();
      const tx = await sign();
      node.faults.beforeCall = (method) => {
        if (method === 'readFates') throw readerError('RPC_UNAVAILABLE', 'down');
      };
      node.mine(tx, aTx({ to: ALICE, amount: 5n }));
      mineEmpty(3);
      await scan.settle();
      expect(await recordedTransfers(admin.kysely)).toMatchObject([{ state: 'VERIFIED', height: 21 }]);
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 24, verified: 22 });
      expect(await fates()).toEqual([]);
      expect(await scan.metrics.render()).toMatch(
        /opentill_scanner_errors_total\{.*part="fates".*code="RPC_UNAVAILABLE"/,
      );
      scan.clock.pass(61_000);
      await scan.tick();
      expect(await alarms(scan)).toContain('fates-waiting');
      node.faults.beforeCall = undefined;
      scan.clock.pass(20_000);
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
      expect(await alarms(scan)).not.toContain('fates-waiting');
    });

    /** The seen read returns `node`'s answer; two sources agree if their answers are equal. */
    function pairOf(second: Pick<MockNode, 'reader'>): ChainReader {
      const both: ChainReader['readFates'] = async (own, options = {}) => {
        const first = await node.reader.readFates(own, options);
        if (options.byOneSource === true) return first;
        const other = await second.reader.readFates(own, options);
        const events = (read: FatesRead, hash: TxHash): string | undefined => {
          const fate = read.fates.find(({ txHash }) => txHash === hash);
          return fate && `${fate.blockHash} ${fate.succeeded} ${fate.deliveredBaseUnits}`;
        };
        const isAgreed = (hash: TxHash): boolean => events(first, hash) === events(other, hash);
        return {
          fates: first.fates.filter(({ txHash }) => isAgreed(txHash)),
          disputed: own.map(({ txHash }) => txHash).filter((hash) => !isAgreed(hash)),
        };
      };
      return { ...node.reader, readFates: both };
    }

    function nodeWithReceipts(change: (fates: readonly TransactionFate[]) => readonly TransactionFate[]): {
      readonly reader: ChainReader;
    } {
      return {
        reader: {
          ...node.reader,
          async readFates(...args) {
            const read = await node.reader.readFates(...args);
            return { ...read, fates: change(read.fates) };
          },
        },
      };
    }

    it.each<[string, (fates: readonly TransactionFate[]) => readonly TransactionFate[]]>([
      ['has no receipt', () => []],
      [
        'reports a failure',
        (read) => read.map((fate) => ({ ...fate, succeeded: false, deliveredBaseUnits: 0n })),
      ],
    ])('keeps an own transaction waiting when one of two sources %s', async (_, change) => {
      let isWrong = true;
      const scan = await openSettled({
        reader: pairOf(nodeWithReceipts((read) => (isWrong ? change(read) : read))),
      });
      const tx = await sign();
      node.mine(tx);
      mineEmpty(3);
      await scan.settle();
      expect(await fates()).toEqual([`${tx.hash} MINED 21`]);
      expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 24, verified: 22 });
      scan.clock.pass(61_000);
      await scan.tick();
      expect(await alarms(scan)).toContain('fates-waiting');
      isWrong = false;
      await scan.tick();
      expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
      expect(await alarms(scan)).not.toContain('fates-waiting');
      await expectAllEvents();
    });

    it('detects a source that withholds a receipt', async () => {
      const scan = await openSettled({ reader: pairOf({ reader: node.reader }) });
      const tx = await sign();
      let isWrong = true;
      const { readFates } = node.reader;
      const truth = { reader: { ...node.reader, readFates } };
      const reader = pairOf(truth);
      await scan.lease.release();
      const withheld = await open({
        holder: 'replica-2',
        reader: {
          ...reader,
          async readFates(own, options = {}) {
            if (isWrong && options.byOneSource === true) return { fates: [], disputed: [] };
            if (isWrong) {
              const read = await readFates(own, options);
              return { fates: [], disputed: read.fates.map(({ txHash }) => txHash) };
            }
            return reader.readFates(own, options);
          },
        },
      });
      node.mine(tx);
      mineEmpty(3);
      await withheld.settle();
      expect(await fates()).toEqual([]);
      for (let minute = 0; minute < 2; minute += 1) {
        node.mine();
        withheld.clock.pass(45_000);
        await withheld.tick();
      }
      expect(await alarms(withheld)).toContain('fates-waiting');
      isWrong = false;
      await withheld.tick();
      expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
    });

    it('shows an invented receipt and orphans it once two sources are asked', async () => {
      const scan = await openSettled();
      const tx = await sign();
      await scan.lease.release();
      const invented = (): readonly TransactionFate[] => {
        const { height: blockHeight, hash: blockHash } = node.head();
        return [
          {
            txHash: tx.hash,
            blockHeight,
            blockHash,
            succeeded: true,
            deliveredBaseUnits: 100n,
            feeBaseUnits: 1n,
          },
        ];
      };
      const liar: ChainReader = {
        ...node.reader,
        readFates: (own, { byOneSource = false } = {}) =>
          Promise.resolve({ fates: byOneSource && own.length > 0 ? invented() : [], disputed: [] }),
      };
      const deceived = await open({ holder: 'replica-2', reader: liar });
      node.mine();
      await deceived.tick();
      expect(await fates()).toEqual([`${tx.hash} MINED 21`]);
      mineEmpty(1);
      await deceived.tick();
      mineEmpty(1);
      await deceived.tick();
      expect(await fates()).toEqual([`${tx.hash} ORPHANED 21`]);
      await expectAllEvents();
    });
  });

  describe('replicas', () => {
    it('continues at the position of the replica before', async () => {
      const first = await openSettled();
      const [a, b] = [await sign(), await sign()];
      node.mine(a);
      await first.settle();
      await first.lease.release();
      const second = await open({ holder: 'replica-2' });
      node.mine(b);
      mineEmpty(2);
      await second.settle();
      expect(await fates()).toEqual([`${a.hash} VERIFIED 21`, `${b.hash} VERIFIED 22`].sort());
      await expectAllEvents();
    });

    it('writes no row after the lease expired during a pause', async () => {
      const tx = await sign();
      let sleep: (() => Promise<void>) | undefined;
      const first = await openSettled({
        wrapStore: (store) => ({
          ...store,
          async commit(...args) {
            await sleep?.();
            return store.commit(...args);
          },
        }),
      });
      node.mine(tx);
      sleep = async () => {
        sleep = undefined;
        await sql`update scanner_evm.lease set expires_at = now() - interval '1 second'`.execute(
          admin.kysely,
        );
        node.reorg(1, [], []);
        const second = await open({ holder: 'second' });
        await second.settle();
        expect(await fates()).toEqual([]);
      };
      expect(await first.tick()).toBeUndefined();
      expect(first.lease.current()).toBeUndefined();
      expect(await fates()).toEqual([]);
      expect(await fateEvents(admin.kysely)).toEqual({});
      expect(await first.tick()).toBeUndefined();
      expect(await fates()).toEqual([]);
    });
  });

  describe('recorded transfers', () => {
    const recorded = async (): Promise<readonly string[]> =>
      (await recordedTransfers(admin.kysely)).map((t) => `${t.to} ${t.amount} ${t.state}`);

    it('excludes transfers of own transactions in all passes and rescans', async () => {
      const scan = await openSettled();
      const [toOurselves, toTheWallet] = [
        await sign({ to: ALICE, amount: 3n }),
        await sign({ to: HOT, amount: 4n }),
      ];
      node.mine(toOurselves, toTheWallet, aTx({ to: ALICE, amount: 5n }));
      await scan.tick();
      expect(await recorded()).toEqual(['0xalice 5 DETECTED']);
      mineEmpty(2);
      await scan.settle();
      expect(await recorded()).toEqual(['0xalice 5 VERIFIED']);
      await sql`insert into rescan_request (chain, from_height, to_height) values (${CHAIN}, 15, 21)`.execute(
        admin.kysely,
      );
      await scan.settle();
      expect(await recorded()).toEqual(['0xalice 5 VERIFIED']);
      expect((await fates()).filter((fate) => fate.endsWith('VERIFIED 21'))).toHaveLength(2);
    });

    it('records tokens and native coin sent to a hot wallet', async () => {
      const scan = await openSettled();
      node.mine(aTx({ to: HOT, amount: 5n }), aTx({ to: HOT, amount: 6n, isNative: true }));
      await scan.settle();
      expect((await recorded()).toSorted()).toEqual(['0xhotwallet 5 DETECTED', '0xhotwallet 6 DETECTED']);
      mineEmpty(2);
      await scan.settle();
      expect((await recorded()).toSorted()).toEqual(['0xhotwallet 5 VERIFIED', '0xhotwallet 6 VERIFIED']);
    });

    it('excludes a hot wallet address of another family', async () => {
      const scan = await openSettled();
      node.mine(aTx({ to: TRON_HOT, amount: 5n }));
      await scan.settle();
      expect(await recorded()).toEqual([]);
    });
  });

  describe('metrics', () => {
    it('reports the open own transactions and the age of the oldest unmined one', async () => {
      const network = { ...MOCK_NETWORK, confirmations: 5 };
      const scan = await openSettled({ network });
      const gauge = async (name: string): Promise<number> =>
        Number(new RegExp(`^${name}\\{[^}]*\\} (.*)$`, 'm').exec(await scan.metrics.render())?.[1]);
      expect(await gauge('opentill_scanner_own_transactions_open_count')).toBe(0);
      const signedAt = (secondsAgo: number): Date =>
        new Date(scan.clock.now().getTime() - secondsAgo * 1_000);
      const [old] = [await sign({ signedAt: signedAt(90) }), await sign({ signedAt: signedAt(30) })];
      node.mine();
      await scan.tick();
      expect(await gauge('opentill_scanner_own_transactions_open_count')).toBe(2);
      expect(await gauge('opentill_scanner_own_transaction_unmined_age_seconds')).toBe(90);
      node.mine(old);
      await scan.tick();
      await scan.tick();
      expect(await gauge('opentill_scanner_own_transactions_open_count')).toBe(2);
      expect(await gauge('opentill_scanner_own_transaction_unmined_age_seconds')).toBe(30);
      expect(await gauge('opentill_scanner_own_fates_changed_total')).toBe(1);
    });
  });
});
