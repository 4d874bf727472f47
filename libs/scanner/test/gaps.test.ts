import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { BlockHash } from '@opentill/chain/block';
import { newId } from '@opentill/runtime/ids';
import { systemClock } from '@opentill/runtime/clock';
import { createScanStore } from '../src/store/scan-store.ts';
import { markOrphaned } from '../src/store/write-chain.ts';
import { ALICE, empty, useGaps } from './gap-world.ts';
import { aTx } from './mock-node.ts';
import { CHAIN, MOCK_NETWORK, transferVersions } from './scan-harness.ts';

const { admin, scanner, node, sources, mine, open, openSettled, states, cursor, storedAbove } =
  await useGaps();

describe('reorganisation across a gap', () => {
  it('takes back a verified payment only if two sources replace its block', async () => {
    const scan = await openSettled();
    mine([], [aTx({ to: ALICE, amount: 5n })], [], []);
    await scan.settle();
    expect(await states()).toEqual(['0xalice 22 VERIFIED']);
    const before = await cursor();
    node().reorg(3, ...empty(4)); // block 21 is the same at both
    for (let i = 0; i < 3; i += 1) {
      scan.clock.pass(1_000);
      expect(await scan.tick()).toBe('soon');
    }
    expect(await states()).toEqual(['0xalice 22 VERIFIED']);
    expect(await cursor()).toEqual(before);
    sources()[1].reorg(3, ...empty(4));
    await scan.settle();
    expect(await states()).toEqual(['0xalice 22 ORPHANED']);
  });

  it('keeps a payment that moved to another block after its row was read', async () => {
    const scan = await openSettled();
    mine([], [aTx({ to: ALICE, amount: 5n })], [], []);
    await scan.settle();
    const db = scanner();
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
    await sql`delete from block where chain = ${CHAIN} and height = 22`.execute(admin());
    await scan.lease.release();
    for (const source of sources()) {
      source.faults.hiddenFromSeen.add(paid.hash);
      source.reorg(2, ...empty(4));
    }
    const again = await open({}, { network });
    await again.tick();
    expect(await transferVersions(admin())).toMatchObject([{ state: 'DETECTED', version: 1 }]);
    expect(await storedAbove(20)).toEqual(['0xblock-21-0', '0xblock-22-0', '0xblock-23-1', '0xblock-24-1']);
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
  await sql.raw(statements).execute(admin());
  expect(await cursor()).toMatchObject({ seen: 20, verified: 20, blocks: ['0xblock-20-0'] });
  expect(await states()).toEqual(['0xalice 22 DETECTED']);
  mine([], []);
  await (await open()).settle();
  expect(await transferVersions(admin())).toMatchObject([{ state: 'VERIFIED', version: 2 }]);
});
