import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { Database } from '@opentill/db/database';
import { aHotWalletAddress } from '@opentill/testkit/payout-scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createScanStore } from '../src/store/scan-store.ts';
import { markOrphaned } from '../src/store/write-chain.ts';
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
  transferVersions,
  type TestScan,
  type TestScanOptions,
} from './scan-harness.ts';

/** The scanner stores only the last block of a range, and those of payments. `witness` is the second source. */
let database: TestDatabase;
let admin: Database;
let scanner: Database;
let node: MockNode;
let witness: MockNode;
const [ALICE, BOB, HOT] = [address('alice'), address('bob'), address('hotwallet')];

beforeAll(async () => {
  database = await createTestDatabase();
  admin = database.open('admin');
  scanner = database.open('scanner_evm');
  await giveOut(admin.kysely, [ALICE, BOB]);
  await aHotWalletAddress(admin.kysely, { family: 'EVM', address: HOT });
});
afterAll(async () => {
  await scanner.close();
  await admin.close();
  await database.drop();
});
beforeEach(async () => {
  await forgetScans(admin.kysely);
  node = createMockNode(CHAIN, { isSparse: true });
  witness = createMockNode(CHAIN, { isSparse: true });
  mine(...empty(20));
});

const empty = (count: number): readonly (readonly MockTx[])[] => Array.from({ length: count }, () => []);
function mine(...blocks: readonly (readonly MockTx[])[]): void {
  for (const txs of blocks) {
    node.mine(...txs);
    witness.mine(...txs);
  }
}

const open = (reader: Partial<ChainReader> = {}, options: Partial<TestScanOptions> = {}): Promise<TestScan> =>
  openScan({
    db: scanner.kysely,
    reader: { ...node.reader, confirmBlock: witness.reader.confirmBlock, ...reader },
    ...options,
  });
const openSettled = async (...given: Parameters<typeof open>): Promise<TestScan> => {
  const scan = await open(...given);
  await scan.settle();
  return scan;
};
/** The logs name the block below as expected, although the chain has replaced it. */
const readSeenAsExpected: ChainReader['readSeen'] = async (from, to, options = {}) => {
  const range = await node.reader.readSeen(from, to, options);
  return { ...range, ...(options.below === undefined ? {} : { below: options.below }) };
};
const states = async (): Promise<readonly string[]> =>
  (await recordedTransfers(admin.kysely)).map((t) => `${t.to} ${t.height} ${t.state}`);
const cursor = () => storedCursor(admin.kysely);
const storedAbove = async (height: number): Promise<readonly string[]> =>
  (await cursor()).blocks.filter((hash) => Number(hash.split('-')[1]) > height);

describe('reorganisation across a gap', () => {
  it('takes back a verified payment only if two sources replace its block', async () => {
    const scan = await openSettled();
    mine([], [aTx({ to: ALICE, amount: 5n })], [], []);
    await scan.settle();
    expect(await states()).toEqual(['0xalice 22 VERIFIED']);
    const before = await cursor();
    node.reorg(3, ...empty(4)); // block 21 is the same at both
    for (let i = 0; i < 3; i += 1) {
      scan.clock.pass(1_000);
      expect(await scan.tick()).toBe('soon');
    }
    expect(await states()).toEqual(['0xalice 22 VERIFIED']);
    expect(await cursor()).toEqual(before);
    witness.reorg(3, ...empty(4));
    await scan.settle();
    expect(await states()).toEqual(['0xalice 22 ORPHANED']);
  });

  it('keeps a payment that moved to another block after its row was read', async () => {
    const scan = await openSettled();
    mine([], [aTx({ to: ALICE, amount: 5n })], [], []);
    await scan.settle();
    const { kysely: db } = scanner;
    const store = createScanStore({ db, schema: 'scanner_evm', clock: systemClock, newId });
    const [row] = await store.liveTransfers(CHAIN, 22);
    const orphan = (blockHash: string): Promise<readonly string[]> =>
      db
        .transaction()
        .execute((tx) => markOrphaned(tx, CHAIN, [{ ...row!, blockHash: blockHash as BlockHash }]));
    expect(await orphan('0xblock-22-b')).toEqual([]);
    expect(await states()).toEqual(['0xalice 22 VERIFIED']);
    expect(await orphan(row!.blockHash)).toEqual([row!.transferId]);
  });

  it('keeps payments of unchanged blocks, and stores each block of the branch', async () => {
    const network = { ...MOCK_NETWORK, confirmations: 5 };
    const scan = await openSettled({}, { network });
    const paid = aTx({ to: ALICE, amount: 5n });
    mine([], [paid], [], []);
    await scan.tick();
    expect(await storedAbove(18)).toEqual(['0xblock-20-0', '0xblock-22-0', '0xblock-24-0']);
    // As in a database that lacks the payment's block.
    await sql`delete from block where chain = ${CHAIN} and height = 22`.execute(admin.kysely);
    await scan.lease.release();
    for (const source of [node, witness]) {
      source.faults.hiddenFromSeen.add(paid.hash);
      source.reorg(2, ...empty(4));
    }
    const again = await open({}, { network });
    await again.tick();
    expect(await transferVersions(admin.kysely)).toMatchObject([{ state: 'DETECTED', version: 1 }]);
    expect(await storedAbove(20)).toEqual(['0xblock-21-0', '0xblock-22-0', '0xblock-23-1', '0xblock-24-1']);
  });
});

describe('verified range', () => {
  it('rejects a range that does not continue the verified block', async () => {
    const scan = await openSettled({
      readVerified: async (...given) => ({
        ...(await node.reader.readVerified(...given)),
        below: '0xelsewhere' as BlockHash,
      }),
    });
    mine(...empty(4));
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 24, verified: 18 });
    expect(await scan.metrics.render()).toMatch(/errors_total\{.*part="verified",code="VERIFIED_BLOCK_LEFT"/);
  });

  it('does not count depth by a block that left the chain while the range was read', async () => {
    const scan = await openSettled();
    mine(...empty(4));
    await scan.settle();
    mine([], [aTx({ to: ALICE, amount: 5n })], [], []); // up to 28, which makes 26 deep enough
    let reads = 0;
    const reorganised = await openAgain(scan, {
      readVerified: async (...given) => {
        if ((reads += 1) === 1) for (const source of [node, witness]) source.reorg(2, ...empty(1));
        return node.reader.readVerified(...given);
      },
    });
    await reorganised.tick().catch(() => undefined);
    expect(reads).toBe(1);
    expect(await cursor()).toMatchObject({ verified: 22 });
    expect(await states()).toEqual(['0xalice 26 DETECTED']);
  });

  it('does not count depth by a block that one source lacked before the read', async () => {
    const scan = await openSettled();
    mine(...empty(4));
    await scan.settle();
    const blocks = [[], [aTx({ to: ALICE, amount: 5n })], [], []];
    for (const txs of blocks) node.mine(...txs);
    const catchUp = (): void => {
      for (const txs of blocks.splice(0)) witness.mine(...txs);
    };
    const lagging = await openAgain(scan, {
      readVerified: async (...given) => {
        catchUp();
        return node.reader.readVerified(...given);
      },
    });
    await lagging.tick();
    expect(await cursor()).toMatchObject({ seen: 28, verified: 22 });
    catchUp();
    await lagging.settle();
    expect(await states()).toEqual(['0xalice 26 VERIFIED']);
  });

  it('drops a block of another branch that no later range contradicts', async () => {
    const [left, paid] = [aTx({ to: ALICE, amount: 5n }), aTx({ to: BOB, amount: 6n })];
    const scan = await openSettled({ readSeen: readSeenAsExpected });
    mine([], [left]);
    await scan.tick();
    for (const source of [node, witness]) source.reorg(1, [], [], [paid], [], []);
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 26, verified: 24 });
    expect(await states()).toEqual(['0xalice 22 ORPHANED', '0xbob 24 VERIFIED']);
    expect(await storedAbove(20)).not.toContain('0xblock-22-0');
  });

  it('drops the seen block if a long range passes over it', async () => {
    const scan = await openSettled();
    await scan.lease.release();
    for (const source of [node, witness]) source.reorg(1, ...empty(20));
    await (await open()).tick();
    expect(await cursor()).toMatchObject({ seen: 39, verified: 37 });
    expect((await cursor()).blocks).not.toContain('0xblock-20-0');
  });

  it.each([22, 23])('is not blocked by a stored block %i with a false parent', async (height) => {
    let isDown = false;
    const scan = await openSettled({
      readVerified: (...given) =>
        isDown ? Promise.reject(readerError('RPC_UNAVAILABLE', 'down')) : node.reader.readVerified(...given),
    });
    isDown = true;
    mine(...empty(6));
    await scan.settle(); // 24 and 26 are stored; the next range ends at 22
    await scan.lease.release();
    const [{ timeSeconds }] = (await node.reader.headers(height, height)) as [BlockHeader];
    await sql`
      insert into block (chain, height, hash, parent_hash, block_time)
      values (${CHAIN}, ${height}, ${`0xblock-${height}-0`}, '0xfalse', to_timestamp(${timeSeconds}))
      on conflict (chain, height) do update set parent_hash = '0xfalse'`.execute(admin.kysely);
    await (await open()).settle();
    expect(await cursor()).toMatchObject({ seen: 26, verified: 24 });
    const { rows } = await sql`select height from block where parent_hash = '0xfalse'`.execute(admin.kysely);
    expect(rows).toEqual([]);
  });

  it('removes invented blocks above the highest range, and keeps payments above them', async () => {
    const network = { ...MOCK_NETWORK, maxBlockRange: 7 };
    const down = () => Promise.reject(readerError('RPC_UNAVAILABLE', 'down'));
    await (await openSettled({}, { network })).lease.release();
    const scan = await open({ readVerified: down }, { network });
    for (const blocks of [empty(6), [[], [aTx({ to: ALICE, amount: 5n })], ...empty(4)]]) {
      mine(...blocks);
      await scan.settle();
    }
    expect(await cursor()).toMatchObject({ seen: 32, verified: 18 });
    expect(await storedAbove(20)).toEqual(['0xblock-26-0', '0xblock-28-0', '0xblock-32-0']);
    await scan.lease.release();
    await sql`update block set hash = '0xinvented', parent_hash = '0xfalse'
      where chain = ${CHAIN} and height = 26`.execute(admin.kysely);
    await (await open({}, { network })).settle();
    expect(await cursor()).toMatchObject({ seen: 32, verified: 30 });
    expect(await transferVersions(admin.kysely)).toMatchObject([{ state: 'VERIFIED', version: 2 }]);
  });

  it('removes an invented seen block while the head stays below it', async () => {
    const network = { ...MOCK_NETWORK, maxBlockRange: 10 };
    const invented = { ...node.head(), height: 32, hash: '0xinvented' as BlockHash };
    let isLying = false;
    const scan = await openSettled(
      {
        head: (options) => (isLying ? Promise.resolve(invented) : node.reader.head(options)),
        readSeen: (from, to, options = {}) =>
          isLying
            ? Promise.resolve({ headers: [invented], below: options.below!, transfers: [] })
            : node.reader.readSeen(from, to, options),
      },
      { network },
    );
    mine([], [aTx({ to: ALICE, amount: 5n })]);
    await scan.tick();
    isLying = true;
    await scan.tick();
    expect(await cursor()).toMatchObject({ seen: 32, verified: 20 });
    isLying = false;
    mine(...empty(5));
    for (const seconds of [0, 29, 1]) {
      expect(await cursor()).toMatchObject({ seen: 32 });
      scan.clock.pass(seconds * 1_000);
      await scan.tick();
    }
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 27, verified: 25 });
    expect(await transferVersions(admin.kysely)).toMatchObject([{ state: 'VERIFIED', version: 2 }]);
  });

  it('takes back a verified block that left the chain under a seen block of it', async () => {
    const scan = await openSettled({ readSeen: readSeenAsExpected });
    mine([], [aTx({ to: ALICE, amount: 5n })], [], []);
    await scan.settle();
    expect(await states()).toEqual(['0xalice 22 VERIFIED']);
    for (const source of [node, witness]) source.reorg(4, ...empty(6));
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 26, verified: 24 });
    expect(await states()).toEqual(['0xalice 22 ORPHANED']);
  });

  it('stores the block at which the signer read a balance', async () => {
    const scan = await openSettled();
    mine(...empty(6));
    await sql`
      insert into hot_wallet_balance (chain, wallet, symbol, amount, block_height, block_hash, seen_at)
      values (${CHAIN}, ${HOT}, 'USDT', 1, 23, '0xblock-23-0', now())`.execute(admin.kysely);
    await scan.settle();
    expect(await storedAbove(20)).toContain('0xblock-23-0');
    await sql`update hot_wallet_balance set block_height = 99, block_hash = 'x'`.execute(admin.kysely);
    const { rows } = await sql`select block_height from confirmed_balance`.execute(admin.kysely);
    expect(rows).toEqual([{ block_height: 23 }]);
    await sql`delete from hot_wallet_balance`.execute(admin.kysely);
    await sql`delete from confirmed_balance`.execute(admin.kysely);
  });
});

it('leaves an older version no gaps after the statements of the guide', async () => {
  const scan = await openSettled();
  mine([], [aTx({ to: ALICE, amount: 5n })]);
  await scan.tick();
  expect(await storedAbove(18)).toEqual(['0xblock-20-0', '0xblock-22-0']);
  await scan.lease.release();
  const guide = await readFile(new URL('../../../deploy/guides/operations.md', import.meta.url), 'utf8');
  const [statements = ''] = guide.match(/(?<=```sql\n)begin;\nupdate chain_cursor.*?(?=```)/s) ?? [];
  await sql.raw(statements).execute(admin.kysely);
  expect(await cursor()).toMatchObject({ seen: 20, verified: 20, blocks: ['0xblock-20-0'] });
  expect(await states()).toEqual(['0xalice 22 DETECTED']);
  mine([], []);
  await (await open()).settle();
  expect(await transferVersions(admin.kysely)).toMatchObject([{ state: 'VERIFIED', version: 2 }]);
});

async function openAgain(before: TestScan, reader: Partial<ChainReader>): Promise<TestScan> {
  await before.lease.release();
  return open(reader);
}
