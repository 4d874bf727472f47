import { expect, it } from 'vitest';
import { sql } from 'kysely';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { ScanStore } from '../src/store/scan-store.ts';
import { ALICE, BOB, empty, useGaps } from './gap-world.ts';
import { aTx, createMockNode, type MockTx } from './mock-node.ts';
import { CHAIN, outboxEvents, transferVersions } from './scan-harness.ts';

const { admin, node, sources, mine, openSettled, openAgain, states, cursor } = await useGaps();

/** Catches up to 40. The segments above 26 are answered after the commit of 26, or after a removal in its place. */
async function catchUpInTwoCommits(before: Awaited<ReturnType<typeof openSettled>>): Promise<void> {
  let committed = Promise.withResolvers<void>();
  const heights: number[] = [];
  const wrapStore = (store: ScanStore): ScanStore => ({
    ...store,
    async commit(lease, network, state, change) {
      const result = await store.commit(lease, network, state, change);
      const { verifiedHeight } = result.state;
      heights.push(verifiedHeight);
      if (verifiedHeight < 26 && verifiedHeight !== state.verifiedHeight) return result;
      committed.resolve();
      committed = Promise.withResolvers();
      return result;
    },
  });
  const readVerified: ChainReader['readVerified'] = async (from, ...rest) => {
    if (from > 26 && (heights.at(-1) ?? 0) < 26) await committed.promise;
    return node().reader.readVerified(from, ...rest);
  };
  const scan = await openAgain(before, { readVerified }, { wrapStore });
  await scan.settle();
  expect(heights.find((height) => height >= 26)).toBeLessThan(29);
  expect(await cursor()).toMatchObject({ seen: 40, verified: 38 });
}

type Scene = [string, (paid: MockTx, see: () => Promise<unknown>) => Promise<unknown>];

it.each<Scene>([
  ...['0xinvented', undefined].map((hash): Scene => [
    `invented by one source, with ${hash === undefined ? 'the true' : 'another'} hash`,
    async (paid, see) => {
      mine([], [paid], [], []);
      await see();
      await sql`update transfer set block_height = 29, block_hash = coalesce(${hash ?? null}, block_hash)`.execute(
        admin(),
      );
      mine(...empty(12));
    },
  ]),
  [
    'of a branch that was left during an outage',
    async (paid, see) => {
      mine(...empty(4), [paid]);
      await see();
      for (const source of sources()) source.reorg(6, ...empty(2), [paid], ...empty(14));
    },
  ],
])('keeps a payment whose row is in a later block, %s', async (_, pay) => {
  const paid = aTx({ to: ALICE, amount: 5n });
  let isDown = false;
  const scan = await openSettled({
    readVerified: (...given) =>
      isDown ? Promise.reject(readerError('RPC_UNAVAILABLE', 'down')) : node().reader.readVerified(...given),
  });
  isDown = true;
  mine(...empty(4));
  await scan.tick();
  await pay(paid, () => scan.settle());
  expect(await states()).toEqual(['0xalice 29 DETECTED']);
  await catchUpInTwoCommits(scan);
  expect(await states()).toEqual(['0xalice 26 VERIFIED']);
  const types = (await outboxEvents(admin())).map(({ type }) => type);
  expect(types).not.toContain('transfer.orphaned');
});

it('keeps a verified payment that one source shows in a later block', async () => {
  const paid = aTx({ to: ALICE, amount: 5n });
  const later = createMockNode(CHAIN, { isSparse: true });
  for (let height = 1; height < 26; height += 1) later.mine();
  later.mine(paid);
  const { transfers } = await later.reader.readSeen(26, 26);
  const scan = await openSettled({
    readSeen: async (from, to, options) => {
      const range = await node().reader.readSeen(from, to, options);
      const isHere = from <= 26 && to >= 26;
      return isHere ? { ...range, transfers: [...range.transfers, ...transfers] } : range;
    },
    confirmTransfers: (asked, options) =>
      (asked.some(({ blockHeight }) => blockHeight === 26) ? later : node()).reader.confirmTransfers(
        asked,
        options,
      ),
  });
  mine([], [paid], [], []);
  await scan.settle();
  const before = await transferVersions(admin());
  expect(before).toMatchObject([{ state: 'VERIFIED' }]);
  mine([], []);
  await scan.tick(); // shows it in block 26
  expect(await transferVersions(admin())).toEqual(before);
  mine(...empty(4));
  await scan.settle();
  expect(await cursor()).toMatchObject({ seen: 30, verified: 28 });
  expect(await transferVersions(admin())).toEqual(before);
});

it('rescans no blocks of a branch that does not have the verified block', async () => {
  const fork = createMockNode(CHAIN, { isSparse: true });
  for (let height = 1; height <= 28; height += 1) fork.mine();
  fork.reorg(8, ...empty(4), [aTx({ to: BOB, amount: 6n })], ...empty(4));
  let isForked = false;
  const reader = (): ChainReader => (isForked ? fork : node()).reader;
  const scan = await openSettled(
    {
      readVerified: (...given) => reader().readVerified(...given),
      confirmTransfers: (...given) => reader().confirmTransfers(...given),
      confirmBlock: (...given) => reader().confirmBlock(...given),
    },
    {
      wrapStore: (store) => ({
        ...store,
        async nextRescan(chain) {
          const request = await store.nextRescan(chain);
          isForked = request !== undefined;
          return request;
        },
      }),
    },
  );
  mine(...empty(8));
  await scan.settle();
  await sql`insert into rescan_request (chain, from_height, to_height) values (${CHAIN}, 25, 25)`.execute(
    admin(),
  );
  expect((await cursor()).blocks.slice(-3)).toEqual(['0xblock-24-0', '0xblock-26-0', '0xblock-28-0']);
  scan.clock.pass(20_000);
  await scan.tick();
  expect(isForked).toBe(true);
  expect(await states()).toEqual([]);
  expect((await cursor()).blocks.filter((hash) => hash.endsWith('-1'))).toEqual([]);
});
