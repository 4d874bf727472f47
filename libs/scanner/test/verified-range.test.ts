import { describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { ALICE, BOB, empty, HOT, useGaps } from './gap-world.ts';
import { aTx, createMockNode } from './mock-node.ts';
import { CHAIN, MOCK_NETWORK, transferVersions } from './scan-harness.ts';

const {
  admin,
  node,
  sources,
  mine,
  open,
  openSettled,
  openAgain,
  states,
  cursor,
  storedAbove,
  readSeenAsExpected,
} = await useGaps();

describe('verified range', () => {
  it('rejects a range that does not continue the verified block', async () => {
    const scan = await openSettled({
      readVerified: async (...given) => ({
        ...(await node().reader.readVerified(...given)),
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
        if ((reads += 1) === 1) for (const source of sources()) source.reorg(2, ...empty(1));
        return node().reader.readVerified(...given);
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
    for (const txs of blocks) node().mine(...txs);
    const catchUp = (): void => {
      for (const txs of blocks.splice(0)) sources()[1].mine(...txs);
    };
    const lagging = await openAgain(scan, {
      readVerified: async (...given) => {
        catchUp();
        return node().reader.readVerified(...given);
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
    for (const source of sources()) source.reorg(1, [], [], [paid], [], []);
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 26, verified: 24 });
    expect(await states()).toEqual(['0xalice 22 ORPHANED', '0xbob 24 VERIFIED']);
    expect(await storedAbove(20)).not.toContain('0xblock-22-0');
  });

  it('drops the seen block if a long range contradicts it', async () => {
    const scan = await openSettled();
    await scan.lease.release();
    for (const source of sources()) source.reorg(1, ...empty(20));
    await (await open()).settle();
    expect(await cursor()).toMatchObject({ seen: 39, verified: 37 });
    expect((await cursor()).blocks).not.toContain('0xblock-20-0');
  });

  it.each([22, 23])('is not blocked by a stored block %i with a false parent', async (height) => {
    let isDown = false;
    const scan = await openSettled({
      readVerified: (...given) =>
        isDown
          ? Promise.reject(readerError('RPC_UNAVAILABLE', 'down'))
          : node().reader.readVerified(...given),
    });
    isDown = true;
    mine(...empty(6));
    await scan.settle(); // 24 and 26 are stored; the next range ends at 22
    await scan.lease.release();
    const [{ timeSeconds }] = (await node().reader.headers(height, height)) as [BlockHeader];
    await sql`
      insert into block (chain, height, hash, parent_hash, block_time)
      values (${CHAIN}, ${height}, ${`0xblock-${height}-0`}, '0xfalse', to_timestamp(${timeSeconds}))
      on conflict (chain, height) do update set parent_hash = '0xfalse'`.execute(admin());
    await (await open()).settle();
    expect(await cursor()).toMatchObject({ seen: 26, verified: 24 });
    const { rows } = await sql`select height from block where parent_hash = '0xfalse'`.execute(admin());
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
      where chain = ${CHAIN} and height = 26`.execute(admin());
    await (await open({}, { network })).settle();
    expect(await cursor()).toMatchObject({ seen: 32, verified: 30 });
    expect(await transferVersions(admin())).toMatchObject([{ state: 'VERIFIED', version: 2 }]);
  });

  it('removes an invented seen block while the head stays below it', async () => {
    const network = { ...MOCK_NETWORK, maxBlockRange: 10 };
    const invented = { ...node().head(), height: 32, hash: '0xinvented' as BlockHash };
    let isLying = false;
    const scan = await openSettled(
      {
        head: (options) => (isLying ? Promise.resolve(invented) : node().reader.head(options)),
        readSeen: (from, to, options = {}) =>
          isLying
            ? Promise.resolve({ headers: [invented], below: options.below!, transfers: [] })
            : node().reader.readSeen(from, to, options),
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
    expect(await transferVersions(admin())).toMatchObject([{ state: 'VERIFIED', version: 2 }]);
  });

  it.each([
    { behind: 4, replaced: 4, apart: 1 },
    { behind: 20, replaced: 4, apart: 1 },
    { behind: 8, replaced: 9, apart: 4 },
  ])(
    'does not credit by depth what blocks $apart apart contradict, $behind behind',
    async ({ behind, replaced, apart }) => {
      const stale = createMockNode(CHAIN, { isSparse: true });
      for (let height = 1; height <= 20 + behind; height += 1) stale.mine();
      stale.reorg(replaced, [], [aTx({ to: ALICE, amount: 5n })], ...empty(replaced - 2));
      let answering: 'stale' | 'down' | 'fresh' = 'fresh';
      const isStale = (): boolean => answering === 'stale';
      const reader: Partial<ChainReader> = {
        readVerified: (...given) => {
          if (answering === 'down') return Promise.reject(readerError('RPC_UNAVAILABLE', 'down'));
          return (isStale() ? stale : node()).reader.readVerified(...given);
        },
        confirmTransfers: (...given) => (isStale() ? stale : node()).reader.confirmTransfers(...given),
      };
      const network = { ...MOCK_NETWORK, reorgWindow: 30 };
      const scan = await openSettled(reader, { network });
      answering = 'down';
      for (let block = 0; block < behind; block += apart) {
        mine(...empty(apart));
        await scan.tick();
      }
      answering = 'stale';
      scan.clock.pass(20_000);
      await scan.tick();
      expect((await cursor()).verified).toBeLessThan(20 + behind - 2);
      expect(await states()).toEqual([]);
      expect(await scan.metrics.render()).toMatch(/errors_total\{.*part="verified",code="BRANCHES_DIFFER"/);
      answering = 'fresh';
      await scan.settle();
      expect(await cursor()).toMatchObject({ seen: 20 + behind, verified: 20 + behind - 2 });
      expect(await states()).toEqual([]);
    },
  );

  it('takes back a verified block that left the chain under a seen block of it', async () => {
    const scan = await openSettled({ readSeen: readSeenAsExpected });
    mine([], [aTx({ to: ALICE, amount: 5n })], [], []);
    await scan.settle();
    expect(await states()).toEqual(['0xalice 22 VERIFIED']);
    for (const source of sources()) source.reorg(4, ...empty(6));
    await scan.settle();
    expect(await cursor()).toMatchObject({ seen: 26, verified: 24 });
    expect(await states()).toEqual(['0xalice 22 ORPHANED']);
  });

  it('stores the block at which the signer read a balance', async () => {
    const scan = await openSettled();
    mine(...empty(6));
    await sql`
      insert into hot_wallet_balance (chain, wallet, symbol, amount, block_height, block_hash, seen_at)
      values (${CHAIN}, ${HOT}, 'USDT', 1, 23, '0xblock-23-0', now())`.execute(admin());
    await scan.settle();
    expect(await storedAbove(20)).toContain('0xblock-23-0');
    await sql`update hot_wallet_balance set block_height = 99, block_hash = 'x'`.execute(admin());
    const { rows } = await sql`select block_height from confirmed_balance`.execute(admin());
    expect(rows).toEqual([{ block_height: 23 }]);
    await sql`delete from hot_wallet_balance`.execute(admin());
    await sql`delete from confirmed_balance`.execute(admin());
  });
});
