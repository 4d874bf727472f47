import { beforeAll, beforeEach } from 'vitest';
import type { BlockHash } from '@opentill/chain/block';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { aHotWalletAddress } from '@opentill/testkit/payout-scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { createMockNode, type MockNode, type MockTx } from './mock-node.ts';
import {
  address,
  CHAIN,
  forgetScans,
  giveOut,
  openScan,
  recordedTransfers,
  storedCursor,
  type TestScan,
  type TestScanOptions,
} from './scan-harness.ts';

export const [ALICE, BOB, HOT] = [address('alice'), address('bob'), address('hotwallet')];
export const empty = (count: number): readonly (readonly MockTx[])[] =>
  Array.from({ length: count }, () => []);

/** A chain of 20 blocks at two sources. The scanner stores only the last block of a range, and those of payments. */
export async function useGaps() {
  const database = await openTestDatabase();
  const { admin } = database;
  const scanner = database.open('scanner_evm');
  let node: MockNode;
  let witness: MockNode;

  beforeAll(async () => {
    await giveOut(admin.kysely, [ALICE, BOB]);
    await aHotWalletAddress(admin.kysely, { family: 'EVM', address: HOT });
  });
  beforeEach(async () => {
    await forgetScans(admin.kysely);
    node = createMockNode(CHAIN, { isSparse: true });
    witness = createMockNode(CHAIN, { isSparse: true });
    mine(...empty(20));
  });

  function mine(...blocks: readonly (readonly MockTx[])[]): void {
    for (const txs of blocks) for (const source of [node, witness]) source.mine(...txs);
  }
  const open = (
    reader: Partial<ChainReader> = {},
    options: Partial<TestScanOptions> = {},
  ): Promise<TestScan> =>
    openScan({
      db: scanner.kysely,
      reader: { ...node.reader, confirmBlock: witness.reader.confirmBlock, ...reader },
      ...options,
    });
  const cursor = () => storedCursor(admin.kysely);

  return {
    admin: () => admin.kysely,
    scanner: () => scanner.kysely,
    /** The first source, and both. */
    node: () => node,
    sources: (): readonly [MockNode, MockNode] => [node, witness],
    mine,
    open,
    async openSettled(...given: Parameters<typeof open>): Promise<TestScan> {
      const scan = await open(...given);
      await scan.settle();
      return scan;
    },
    async openAgain(before: TestScan, ...given: Parameters<typeof open>): Promise<TestScan> {
      await before.lease.release();
      return open(...given);
    },
    cursor,
    /** As `<recipient> <height> <state>`. */
    states: async (): Promise<readonly string[]> =>
      (await recordedTransfers(admin.kysely)).map((t) => `${t.to} ${t.height} ${t.state}`),
    storedAbove: async (height: number): Promise<readonly string[]> =>
      (await cursor()).blocks.filter((hash) => Number(hash.split('-')[1]) > height),
    /** The logs name the block below as expected, although the chain has replaced it. */
    readSeenAsExpected: (async (from, to, options = {}) => {
      const range = await node.reader.readSeen(from, to, options);
      return { ...range, ...(options.below === undefined ? {} : { below: options.below as BlockHash }) };
    }) satisfies ChainReader['readSeen'],
  };
}
