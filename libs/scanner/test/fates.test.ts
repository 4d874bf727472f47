import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { FatesRead, TransactionFate } from '@opentill/chain/own-transaction';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { Database } from '@opentill/db/database';
import { aHotWalletAddress } from '@opentill/testkit/payout-scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
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
  toldFates,
  type TestScan,
  type TestScanOptions,
} from './scan-harness.ts';

const [ALICE, HOT] = [address('alice'), address('hotwallet')];

let database: TestDatabase;
let admin: Database;
let signer: Database;
let scanner: Database;
let node: MockNode;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = database.open('admin');
  signer = database.open('signer');
  scanner = database.open('scanner_evm');
  await giveOut(admin.kysely, [ALICE]);
  await aHotWalletAddress(admin.kysely, { family: 'EVM', address: HOT });
});
afterAll(async () => {
  await scanner.close();
  await signer.close();
  await admin.close();
  await database.drop();
});
beforeEach(async () => {
  await forgetScans(admin.kysely);
  node = createMockNode(CHAIN);
  mineEmpty(20);
});

function mineEmpty(count: number): void {
  for (let i = 0; i < count; i += 1) node.mine();
}

const open = (options: Partial<TestScanOptions> = {}): Promise<TestScan> =>
  openScan({ db: scanner.kysely, reader: node.reader, ...options });
/** A scan at the head, before anything of ours happens. */
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

/** Every version of every fate was told of, once. */
async function expectAllTold(): Promise<void> {
  expect(await toldFates(admin.kysely)).toEqual(await fateVersions(admin.kysely));
}

describe('an own transaction', () => {
  it('is mined with its block and verified with it, told of each time', async () => {
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
    const told = (await outboxEvents(admin.kysely)).filter(({ type }) => type === 'fate.changed');
    expect(told.map(({ data }) => data)).toEqual([
      { chain: CHAIN, txHashes: [tx.hash] },
      { chain: CHAIN, txHashes: [tx.hash] },
    ]);
    await expectAllTold();
  });

  it('stands in the very commit that moves the cursor over its block', async () => {
    const moves: string[] = [];
    const scan = await open({
      wrapStore: (store) => ({
        ...store,
        async commit(...args) {
          const committed = await store.commit(...args);
          const { seen, verified } = await storedCursor(admin.kysely);
          moves.push([`${seen}/${verified}`, ...(await fates()).map((fate) => fate.split(' ')[1])].join(' '));
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

  it('that failed, that delivered less, and that paid the native coin', async () => {
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

  it('is asked for with all the others at once, and not at all while it waits for depth', async () => {
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
    // Of what was signed since the last commit the scanner hears with the next one.
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
    expect(node.calls).toEqual(['head', 'readSeen', 'vouch', 'readVerified']);
  });

  it('is found at the next poll when its receipt came after its block', async () => {
    const scan = await openSettled();
    const tx = await sign();
    node.faults.withoutReceipt.add(tx.hash);
    node.mine(tx);
    await scan.tick();
    expect(await fates()).toEqual([]);
    node.faults.withoutReceipt.clear();
    await scan.tick();
    expect(await fates()).toEqual([`${tx.hash} MINED 21`]);
    await expectAllTold();
  });

  it('of which a sibling was mined is asked for no more once that is verified', async () => {
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

describe('an own transaction that was mined before anybody asked', () => {
  it('is found in the blocks that are caught up with, verified at once', async () => {
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
    await expectAllTold();
  });

  it('is found below all that is stored, in a block that two sources name', async () => {
    const tx = aTx({ to: address('payee'), amount: 100n });
    node.mine(tx);
    mineEmpty(40);
    const scan = await openSettled();
    expect((await storedCursor(admin.kysely)).blocks[0]).toBe('0xblock-49-0');
    // Signed and sent by a signer whose rows came back from a backup later.
    const row = await sign();
    await sql`insert into own_transaction
      select chain, ${tx.hash}, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw, fee_terms,
        signed_at from own_transaction where tx_hash = ${row.hash}`.execute(signer.kysely);
    node.mine();
    node.calls.length = 0;
    await scan.settle();
    expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
    expect(node.calls.filter((call) => call === 'headers')).toHaveLength(1);
    await expectAllTold();
  });

  it('is found at the next poll in a block that is verified already', async () => {
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

describe('a reorganisation', () => {
  it('moves a transaction in the commit that takes its block back; it never looks lost', async () => {
    const scan = await openSettled();
    const tx = await sign();
    node.mine(tx);
    await scan.settle();
    node.reorg(1, [], [tx]);
    await scan.tick();
    expect(await fates()).toEqual([`${tx.hash} MINED 22`]);
    expect(await fateVersions(admin.kysely)).toEqual({ [tx.hash]: 2 });
    await expectAllTold();
  });

  it('mines it again in the same height, as a failed one', async () => {
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
    await expectAllTold();
  });

  it('takes it back for good, and it may still come', async () => {
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
    await expectAllTold();
  });

  it('below the verified cursor takes back what was verified, moved or gone', async () => {
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
    await expectAllTold();
  });

  it('below the verified cursor mines the sibling of what was verified, whatever the signer made of the nonce', async () => {
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
    await expectAllTold();
  });

  it('to a shorter branch takes back what lay above it', async () => {
    const scan = await openSettled();
    const tx = await sign();
    node.mine();
    node.mine(tx);
    await scan.settle();
    node.reorg(2, []);
    await scan.settle();
    expect(await fates()).toEqual([`${tx.hash} ORPHANED 22`]);
    await expectAllTold();
  });

  it('takes back what it takes back though nobody can be asked, who says later where it is', async () => {
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
    await expectAllTold();
  });
});

describe('trouble with receipts', () => {
  const alarms = async (scan: TestScan): Promise<readonly string[]> => {
    const text = await scan.metrics.render();
    return [...text.matchAll(/^opentill_scanner_alarm_bool\{.*kind="([^"]+)".*\} 1$/gm)].map(
      (found) => found[1]!,
    );
  };

  it('holds no cursor and no deposit back, is told of, and what was missed comes', async () => {
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

  /** Two sources: what `node` says is seen; what both say alike is the word of two. */
  function pairOf(second: Pick<MockNode, 'reader'>): ChainReader {
    const both: ChainReader['readFates'] = async (own, options = {}) => {
      const first = await node.reader.readFates(own, options);
      if (options.byOneSource === true) return first;
      const other = await second.reader.readFates(own, options);
      const told = (read: FatesRead, hash: TxHash): string | undefined => {
        const fate = read.fates.find(({ txHash }) => txHash === hash);
        return fate && `${fate.blockHash} ${fate.succeeded} ${fate.deliveredBaseUnits}`;
      };
      const isAgreed = (hash: TxHash): boolean => told(first, hash) === told(other, hash);
      return {
        fates: first.fates.filter(({ txHash }) => isAgreed(txHash)),
        disputed: own.map(({ txHash }) => txHash).filter((hash) => !isAgreed(hash)),
      };
    };
    return { ...node.reader, readFates: both };
  }

  /** The same chain by a node whose receipts say otherwise. */
  function nodeSaying(change: (fates: readonly TransactionFate[]) => readonly TransactionFate[]): {
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
    ['knows nothing of it', () => []],
    ['says it failed', (read) => read.map((fate) => ({ ...fate, succeeded: false, deliveredBaseUnits: 0n }))],
  ])('on one transaction, of which one of two %s, leaves that one waiting', async (_, change) => {
    let isLying = true;
    const scan = await openSettled({ reader: pairOf(nodeSaying((read) => (isLying ? change(read) : read))) });
    const tx = await sign();
    node.mine(tx);
    mineEmpty(3);
    await scan.settle();
    expect(await fates()).toEqual([`${tx.hash} MINED 21`]);
    expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 24, verified: 22 });
    scan.clock.pass(61_000);
    await scan.tick();
    expect(await alarms(scan)).toContain('fates-waiting');
    isLying = false;
    await scan.tick();
    expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
    expect(await alarms(scan)).not.toContain('fates-waiting');
    await expectAllTold();
  });

  it('where the source that is asked first keeps a receipt back: it is found out', async () => {
    const scan = await openSettled({ reader: pairOf({ reader: node.reader }) });
    const tx = await sign();
    let isLying = true;
    const { readFates } = node.reader;
    const truth = { reader: { ...node.reader, readFates } };
    const reader = pairOf(truth);
    await scan.lease.release();
    const lied = await open({
      holder: 'replica-2',
      reader: {
        ...reader,
        async readFates(own, options = {}) {
          if (isLying && options.byOneSource === true) return { fates: [], disputed: [] };
          if (isLying) {
            const read = await readFates(own, options);
            return { fates: [], disputed: read.fates.map(({ txHash }) => txHash) };
          }
          return reader.readFates(own, options);
        },
      },
    });
    node.mine(tx);
    mineEmpty(3);
    await lied.settle();
    expect(await fates()).toEqual([]);
    for (let minute = 0; minute < 2; minute += 1) {
      node.mine();
      lied.clock.pass(45_000);
      await lied.tick();
    }
    expect(await alarms(lied)).toContain('fates-waiting');
    isLying = false;
    await lied.tick();
    expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
  });

  it('where one source alone invents one: it is shown, and taken back where two are heard', async () => {
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
    await expectAllTold();
  });
});

describe('replicas', () => {
  it('go on where the one before them stood', async () => {
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
    await expectAllTold();
  });

  it('that slept through their lease write nothing', async () => {
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
      await sql`update scanner_evm.lease set expires_at = now() - interval '1 second'`.execute(admin.kysely);
      node.reorg(1, [], []);
      const second = await open({ holder: 'second' });
      await second.settle();
      expect(await fates()).toEqual([]);
    };
    expect(await first.tick()).toBeUndefined();
    expect(first.lease.current()).toBeUndefined();
    expect(await fates()).toEqual([]);
    expect(await toldFates(admin.kysely)).toEqual({});
    expect(await first.tick()).toBeUndefined();
    expect(await fates()).toEqual([]);
  });
});

describe('transfers', () => {
  const recorded = async (): Promise<readonly string[]> =>
    (await recordedTransfers(admin.kysely)).map((t) => `${t.to} ${t.amount} ${t.state}`);

  it('of own transactions are no deposits, seen, verified or scanned once more', async () => {
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

  it('to a hot wallet are recorded, in tokens and in the native coin', async () => {
    const scan = await openSettled();
    node.mine(aTx({ to: HOT, amount: 5n }), aTx({ to: HOT, amount: 6n, isNative: true }));
    await scan.settle();
    expect((await recorded()).toSorted()).toEqual(['0xhotwallet 5 DETECTED', '0xhotwallet 6 DETECTED']);
    mineEmpty(2);
    await scan.settle();
    expect((await recorded()).toSorted()).toEqual(['0xhotwallet 5 VERIFIED', '0xhotwallet 6 VERIFIED']);
  });

  it('to an address that is a hot wallet of another family are not', async () => {
    const other = address('other') as Address;
    await aHotWalletAddress(admin.kysely, { family: 'TRON', address: other });
    const scan = await openSettled();
    node.mine(aTx({ to: other, amount: 5n }));
    await scan.settle();
    expect(await recorded()).toEqual([]);
  });
});

describe('the meters', () => {
  it('say how many own transactions are open and how old the oldest is that nobody mined', async () => {
    const network = { ...MOCK_NETWORK, confirmations: 5 };
    const scan = await openSettled({ network });
    const gauge = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name}\\{[^}]*\\} (.*)$`, 'm').exec(await scan.metrics.render())?.[1]);
    expect(await gauge('opentill_scanner_own_transactions_open_count')).toBe(0);
    const signedAt = (secondsAgo: number): Date => new Date(scan.clock.now().getTime() - secondsAgo * 1_000);
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
