import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { readerError } from '@opentill/chain/reader-error';
import type { ScanNetwork } from '../src/scan-network.ts';
import type { ScanStore } from '../src/store/scan-store.ts';
import { aTx, createMockNode, type MockNode, type MockTx } from './mock-node.ts';
import { CHAIN, forgetScans, MOCK_NETWORK, openScan, storedCursor, type TestScan } from './scan-harness.ts';
import { Crash, FIRST_BLOCKS, OURS, STRANGER, useSimulation } from './simulated-world.ts';

/**
 * Scans that fail at every `everyStatement`-th statement of a commit, and scans of `histories` random histories per
 * kind of network. `seed` makes the histories reproducible.
 */
export function describeSimulation({
  everyStatement,
  histories,
  seed,
}: {
  readonly everyStatement: number;
  readonly histories: number;
  readonly seed?: number;
}): void {
  const simulation = useSimulation();
  const { checkEndState, checkEvents, signedTransactions } = simulation;

  describe('commit that fails at any statement', () => {
    function breakingAt(statement: number): { readonly db: Db; readonly statements: () => number } {
      let count = 0;
      const db = simulation.scanner.withPlugin({
        transformQuery({ node }) {
          if (count++ === statement) throw new Crash(`at statement ${statement}`);
          return node;
        },
        transformResult: ({ result }) => Promise.resolve(result),
      });
      return { db, statements: () => count };
    }

    /** During a deep reorganisation that drops, moves and adds payments. */
    async function round(db: Db): Promise<{ readonly node: MockNode; readonly outcome: unknown }> {
      await forgetScans(simulation.admin);
      const node = createMockNode(CHAIN);
      for (let i = 0; i < FIRST_BLOCKS; i += 1) node.mine();
      const before = await openScan({ db: simulation.scanner, reader: node.reader });
      await before.settle();
      const [moves, goes, comes] = [1n, 2n, 3n].map((amount) => aTx({ to: OURS[0]!, amount })) as [
        MockTx,
        MockTx,
        MockTx,
      ];
      const [movedOut, , lostOut] = await signedTransactions();
      node.mine(moves, goes, movedOut, lostOut);
      for (let i = 0; i < 4; i += 1) node.mine();
      await before.settle();
      await before.lease.release();
      node.reorg(5, [comes], [], [moves], [movedOut], []);
      const scan = await openScan({ db, reader: node.reader, holder: 'breaking' });
      const outcome = await scan.tick().then(
        () => 'done',
        (error: unknown) => error,
      );
      return { node, outcome };
    }

    it('writes everything or no row, and the next replica continues', async () => {
      const undisturbed = breakingAt(-1);
      expect((await round(undisturbed.db)).outcome).toBe('done');
      const total = undisturbed.statements();
      expect(total).toBeGreaterThan(12);

      let broken = 0;
      for (let statement = 0; statement < total; statement += everyStatement) {
        const { node, outcome } = await round(breakingAt(statement).db).catch((error: unknown) => {
          if (error instanceof Crash) return { node: undefined, outcome: error };
          throw error;
        });
        if (node === undefined) continue;
        if (outcome instanceof Crash) broken += 1;
        await checkEvents();
        await sql`update scanner_evm.lease set expires_at = now()`.execute(simulation.admin);
        const next = await openScan({ db: simulation.scanner, reader: node.reader, holder: 'next' });
        await next.settle();
        await checkEndState(node);
      }
      expect(broken).toBeGreaterThanOrEqual(Math.floor(11 / everyStatement));
    });
  });

  describe('scan of a random history', () => {
    type Deed =
      | { readonly kind: 'mine'; readonly payments: readonly number[] }
      | { readonly kind: 'mineMany'; readonly blocks: number }
      | { readonly kind: 'finalize'; readonly depth: number }
      | { readonly kind: 'stall'; readonly isStalled: boolean }
      | {
          readonly kind: 'reorg';
          readonly depth: number;
          readonly ahead: number;
          readonly keep: readonly boolean[];
        }
      | { readonly kind: 'lag'; readonly blocks: number }
      | { readonly kind: 'fail'; readonly method: string }
      | { readonly kind: 'tick'; readonly count: number }
      | { readonly kind: 'hide' }
      | { readonly kind: 'payOut'; readonly which: number; readonly fails: boolean }
      | { readonly kind: 'loseAnswer' }
      | { readonly kind: 'crash' };
    const deeds = fc.array(
      fc.oneof(
        {
          weight: 5,
          arbitrary: fc.record({
            kind: fc.constant('mine' as const),
            payments: fc.array(fc.nat(2), { maxLength: 3 }),
          }),
        },
        {
          weight: 3,
          arbitrary: fc.record({
            kind: fc.constant('reorg' as const),
            depth: fc.integer({ min: 1, max: 7 }),
            ahead: fc.integer({ min: -1, max: 2 }),
            keep: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
          }),
        },
        {
          weight: 2,
          arbitrary: fc.record({
            kind: fc.constant('mineMany' as const),
            blocks: fc.integer({ min: 5, max: 30 }),
          }),
        },
        {
          weight: 2,
          arbitrary: fc.record({ kind: fc.constant('finalize' as const), depth: fc.nat(8) }),
        },
        {
          weight: 1,
          arbitrary: fc.record({ kind: fc.constant('stall' as const), isStalled: fc.boolean() }),
        },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('lag' as const), blocks: fc.nat(3) }) },
        {
          weight: 1,
          arbitrary: fc.record({
            kind: fc.constant('fail' as const),
            method: fc.constantFrom(
              'head',
              'readSeen',
              'readVerified',
              'confirmTransfers',
              'readFates',
              'headers',
              'finalized',
            ),
          }),
        },
        {
          weight: 5,
          arbitrary: fc.record({ kind: fc.constant('tick' as const), count: fc.integer({ min: 1, max: 3 }) }),
        },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('hide' as const) }) },
        {
          weight: 4,
          arbitrary: fc.record({
            kind: fc.constant('payOut' as const),
            which: fc.nat(5),
            fails: fc.boolean(),
          }),
        },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('loseAnswer' as const) }) },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
      ),
      { minLength: 5, maxLength: 40 },
    );

    const finalized = { ...MOCK_NETWORK, confirmations: 'finalized' } as const;
    it.each([
      { name: 'three confirmations', network: MOCK_NETWORK },
      {
        name: 'three confirmations, ranges and rests',
        isSparse: true,
        network: { ...MOCK_NETWORK, restIntervalMs: 5_000 },
      },
      {
        name: 'finality, ranges and rests',
        isSparse: true,
        network: { ...finalized, finality: { staleSeconds: 30, minDepth: 2 }, restIntervalMs: 5_000 },
      },
      {
        name: 'a fallback depth for stale finality, ranges',
        isSparse: true,
        network: { ...finalized, finality: { staleSeconds: 30, fallbackDepth: 5 } },
      },
    ] as { name: string; isSparse?: boolean; network: ScanNetwork }[])(
      'ends with the transfers of the chain: $name',
      async ({ network, isSparse = false }) => {
        let reorganisations = 0;
        let longRanges = 0;
        let payouts = 0;
        await fc.assert(
          fc.asyncProperty(deeds, async (history: readonly Deed[]) => {
            await forgetScans(simulation.admin);
            const node = createMockNode(CHAIN, { isSparse });
            for (let i = 0; i < FIRST_BLOCKS; i += 1) node.mine();
            let final = FIRST_BLOCKS - 2;
            node.finalize(final);
            let isAnswerLost = false;
            const wrapStore = (store: ScanStore): ScanStore => ({
              ...store,
              async commit(...args) {
                const result = await store.commit(...args);
                if (!isAnswerLost) return result;
                isAnswerLost = false;
                throw readerError('RPC_UNAVAILABLE', 'committed, but the answer was lost');
              },
            });
            const openNext = (holder: string): Promise<TestScan> =>
              openScan({ db: simulation.scanner, reader: node.reader, network, holder, wrapStore });
            let scan = await openNext('first');
            await scan.settle();
            let highest = 0;
            const checkDepth = async (): Promise<void> => {
              const { verified } = await storedCursor(simulation.admin);
              highest = Math.max(highest, node.head().height);
              if (network.confirmations !== 'finalized') expect(verified).toBeLessThanOrEqual(highest - 2);
              else if (network.finality?.fallbackDepth === undefined)
                expect(verified).toBeLessThanOrEqual(final);
              else expect(verified).toBeLessThanOrEqual(Math.max(final, highest - 4));
            };
            const own = await signedTransactions();
            const setFailed = (tx: MockTx, fails: boolean): unknown =>
              fails ? node.faults.failed.add(tx.hash) : node.faults.failed.delete(tx.hash);
            /** Transactions per block above the first blocks. */
            const mined: MockTx[][] = [];
            const fresh = (payments: readonly number[]): MockTx[] =>
              payments.map((to) =>
                aTx(
                  { to: [...OURS, STRANGER][to]!, amount: 1n },
                  { to: OURS[0]!, amount: 2n },
                  ...(to === 1 ? [{ to: OURS[1]!, amount: 3n, isNative: true }] : []),
                ),
              );
            for (const deed of history) {
              switch (deed.kind) {
                case 'mine':
                  mined.push(fresh(deed.payments));
                  node.mine(...mined.at(-1)!);
                  break;
                case 'mineMany':
                  for (let i = 0; i < deed.blocks; i += 1) {
                    mined.push(fresh(i % 3 === 0 ? [i % 2] : []));
                    node.mine(...mined.at(-1)!);
                  }
                  longRanges += 1;
                  break;
                case 'finalize':
                  final = Math.max(final, node.head().height - deed.depth);
                  node.finalize(final);
                  break;
                case 'stall':
                  node.faults.finalityStalled = deed.isStalled;
                  scan.clock.pass(31_000);
                  break;
                case 'reorg': {
                  highest = Math.max(highest, node.head().height);
                  const isFinalKept = network.confirmations === 'finalized';
                  const forkable = isFinalKept ? node.head().height - final : mined.length;
                  const depth = Math.min(deed.depth, mined.length, forkable);
                  if (depth === 0) break;
                  const lost = mined.splice(mined.length - depth, depth).flat();
                  const kept = lost.filter((_, place) => deed.keep[place % 12] === true);
                  kept.forEach((tx, place) => {
                    if (own.includes(tx)) setFailed(tx, deed.keep[(place + 5) % 12] === true);
                  });
                  const blocks: MockTx[][] = Array.from(
                    { length: Math.max(1, depth + deed.ahead) },
                    () => [],
                  );
                  kept.forEach((tx, place) => blocks[(place + depth) % blocks.length]!.push(tx));
                  mined.push(...blocks);
                  node.reorg(depth, ...blocks);
                  reorganisations += 1;
                  break;
                }
                case 'lag':
                  node.faults.lagBlocks = deed.blocks;
                  break;
                case 'fail':
                  node.faults.beforeCall = (method) => {
                    if (method !== deed.method) return;
                    node.faults.beforeCall = undefined;
                    throw readerError('RPC_UNAVAILABLE', 'down');
                  };
                  break;
                case 'payOut': {
                  // Each pair shares a nonce; only one of the two is in the chain at a time.
                  const tx = own[deed.which]!;
                  const sibling = own[deed.which ^ 1]!;
                  if (mined.flat().some((other) => other === tx || other === sibling)) break;
                  setFailed(tx, deed.fails);
                  mined.push([tx]);
                  node.mine(tx);
                  payouts += 1;
                  break;
                }
                case 'hide': {
                  const tx = mined.flat().findLast((one) => !own.includes(one));
                  if (tx !== undefined) node.faults.hiddenFromSeen.add(tx.hash);
                  break;
                }
                case 'loseAnswer':
                  isAnswerLost = true;
                  break;
                case 'tick':
                  for (let i = 0; i < deed.count; i += 1) {
                    await scan.tick().catch(mustBeRetryable);
                    await checkDepth();
                  }
                  scan.clock.pass(1_000);
                  break;
                case 'crash':
                  await scan.lease.release();
                  scan = await openNext('another');
                  break;
              }
            }
            node.faults.lagBlocks = 0;
            node.faults.beforeCall = undefined;
            node.faults.finalityStalled = false;
            isAnswerLost = false;
            const isAllVisible = node.faults.hiddenFromSeen.size === 0;
            node.faults.hiddenFromSeen.clear();
            await scan.settle();
            if (isAllVisible) await checkEndState(node);
            for (let i = 0; i < 3; i += 1) node.mine();
            node.finalize(node.head().height - 2);
            await scan.settle();
            await checkEndState(node);
          }),
          { numRuns: histories, ...(seed === undefined ? {} : { seed }) },
        );
        const atLeast = (ofTwentyFive: number): number => Math.floor((ofTwentyFive * histories) / 25);
        expect(reorganisations).toBeGreaterThan(atLeast(8));
        expect(longRanges).toBeGreaterThan(atLeast(8));
        expect(payouts).toBeGreaterThan(atLeast(20));
      },
    );

    function mustBeRetryable(error: unknown): void {
      expect(error).toMatchObject({ retryable: true });
    }
  });
}
