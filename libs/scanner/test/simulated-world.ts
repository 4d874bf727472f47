import { afterAll, beforeAll, expect } from 'vitest';
import { sql } from 'kysely';
import type { Database, Db } from '@opentill/db/database';
import type { ScanStore } from '../src/store/scan-store.ts';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { createMockNode, type MockNode, type MockTx } from './mock-node.ts';
import {
  address,
  CHAIN,
  fateVersions,
  giveOut,
  openAgain,
  openScan,
  outboxEvents,
  recordedFates,
  recordedTransfers,
  signPayout,
  storedCursor,
  fateEvents,
  transferVersions,
} from './scan-harness.ts';

export const OURS = [address('alice'), address('bob')] as const;
export const STRANGER = address('stranger');
export const FIRST_BLOCKS = 8;

export class Crash extends Error {}

export type Crasher = ReturnType<typeof createCrasher>;

/** Counts side effects and throws before or after the chosen one. */
export function createCrasher() {
  const crasher = {
    /** -1 means never. */
    crashAt: -1,
    /** More than `crashAt` means it threw. */
    steps: 0,
    step(): void {
      crasher.steps += 1;
      if (crasher.steps - 1 === crasher.crashAt) throw new Crash(`at step ${crasher.crashAt}`);
    },
    wrap(store: ScanStore): ScanStore {
      const around =
        <A extends unknown[], T>(work: (...args: A) => Promise<T>) =>
        async (...args: A): Promise<T> => {
          crasher.step();
          const result = await work(...args);
          crasher.step();
          return result;
        };
      // By name: a new function has to be listed here.
      return {
        requireRegistered: store.requireRegistered,
        loadState: around(store.loadState),
        insertFirstState: around(store.insertFirstState),
        commit: around(store.commit),
        findRecipients: around(store.findRecipients),
        hotWallets: around(store.hotWallets),
        isRestored: async () => false,
        findOwn: around(store.findOwn),
        openAttempts: around(store.openAttempts),
        mayHaveOpenTransactions: around(store.mayHaveOpenTransactions),
        openTransactions: around(store.openTransactions),
        takenTransactions: around(store.takenTransactions),
        liveTransfers: around(store.liveTransfers),
        lowestUnverified: around(store.lowestUnverified),
        recordedHeights: around(store.recordedHeights),
        pauseReason: store.pauseReason,
        nextRescan: around(store.nextRescan),
        isAwaited: async () => false, // a network with a rest interval rests whenever it can
        committees: store.committees,
        readStatus: () => Promise.resolve(undefined),
        writeStatus: () => Promise.resolve(),
      };
    },
  };
  return crasher;
}

export type OwnTransactions = readonly [MockTx, MockTx, MockTx, MockTx, MockTx, MockTx];

export type Simulation = ReturnType<typeof useSimulation>;
export type World = ReturnType<Simulation['createWorld']>;

export function useSimulation() {
  let database: TestDatabase;
  let admin: Database;
  let scanner: Database;
  let signer: Database;
  let own: OwnTransactions;

  beforeAll(async () => {
    database = await createTestDatabase();
    admin = database.open('admin');
    scanner = database.open('scanner_evm');
    signer = database.open('signer');
    await giveOut(admin.kysely, OURS);
    const sign = (replaces?: MockTx): Promise<MockTx> =>
      signPayout({ signer: signer.kysely, admin: admin.kysely }, replaces === undefined ? {} : { replaces });
    const [a, b, c] = [await sign(), await sign(), await sign()];
    own = [a, await sign(a), b, await sign(b), c, await sign(c)];
  });
  afterAll(async () => {
    await scanner.close();
    await signer.close();
    await admin.close();
    await database.drop();
  });

  function createWorld(crasher: Crasher) {
    const node = createMockNode(CHAIN, { isSparse: true });
    node.faults.beforeCall = () => crasher.step();
    let replica = 0;
    return {
      node,
      /** Each replica ends at its crash, and the next takes over. */
      async scanUntilQuiet(): Promise<void> {
        for (;;) {
          replica += 1;
          await sql`update scanner_evm.lease set expires_at = now()`.execute(admin.kysely);
          const scan = await openScan({
            db: scanner.kysely,
            reader: node.reader,
            holder: `replica-${replica}`,
            wrapStore: crasher.wrap,
          });
          try {
            const crashAt = crasher.crashAt;
            const stepsBefore = crasher.steps;
            await scan.settle();
            // A crash in a verified read stops only that pass; the replica survives.
            if (crashAt >= stepsBefore && crashAt < crasher.steps) await scan.settle();
            return;
          } catch (error) {
            if (!(error instanceof Crash)) throw error;
          }
        }
      },
    };
  }

  async function checkEndState(node: MockNode): Promise<void> {
    const cursor = await storedCursor(admin.kysely);
    expect(cursor).toMatchObject({
      head: node.head().height,
      seen: node.head().height,
      seenHash: node.head().hash,
    });
    const recorded = await recordedTransfers(admin.kysely);
    const live = recorded.filter((t) => t.state !== 'ORPHANED');
    const truth = node
      .transfers()
      .filter((t) => OURS.includes(t.to) && t.blockHeight > FIRST_BLOCKS)
      .map((t) => ({
        tx: t.txHash as string,
        position: t.position as string,
        to: t.to as string,
        amount: t.amountBaseUnits as bigint,
        height: t.blockHeight,
        block: t.blockHash as string,
        state: t.blockHeight <= cursor.verified ? 'VERIFIED' : 'DETECTED',
      }));
    const inOrder = <T extends { tx: string; position: string }>(rows: readonly T[]): readonly T[] =>
      [...rows].sort((a, b) => (`${a.tx} ${a.position}` < `${b.tx} ${b.position}` ? -1 : 1));
    expect(inOrder(live)).toEqual(inOrder(truth));
    await checkFates(node, cursor.verified);
    // A fork below the verified cursor moves it back without an event, so the last event may be ahead, never behind.
    const verified = await checkEvents();
    if (verified !== undefined) expect(verified).toBeGreaterThanOrEqual(cursor.verified);
  }

  /** Each pair shares a nonce, so only one of the two can be mined. */
  async function signedTransactions(): Promise<OwnTransactions> {
    await openAgain(signer.kysely, own);
    return own;
  }

  /** Recorded outcomes match the chain, and each version had one event. */
  async function checkFates(node: MockNode, verified: number): Promise<void> {
    const isOwn = new Set<string>(own.map(({ hash }) => hash));
    const truth = node.transactions().filter(({ hash }) => isOwn.has(hash));
    const expected = truth.map(({ hash, height }) => {
      const outcome = node.faults.failed.has(hash) ? ' failed' : '';
      return `${hash} ${height <= verified ? 'VERIFIED' : 'MINED'} ${height}${outcome}`;
    });
    const live = (await recordedFates(admin.kysely)).filter((fate) => !fate.includes('ORPHANED'));
    expect(live.toSorted()).toEqual(expected.toSorted());
    expect(await fateEvents(admin.kysely)).toEqual(await fateVersions(admin.kysely));
  }

  /**
   * No other events may exist. Returns the last verified height reported; a deep reorganisation lowers the cursor
   * without an event.
   */
  async function checkEvents(): Promise<number | undefined> {
    const last = new Map<string, string>();
    let verified: number | undefined;
    for (const event of await outboxEvents(admin.kysely)) {
      if (event.type === 'fate.changed') continue;
      const ids = (event.data as { transferIds: string[] }).transferIds;
      for (const id of ids) last.set(id, event.type);
      if (event.type === 'block.verified') verified = (event.data as { height: number }).height;
    }
    const says = { DETECTED: 'transfer.detected', VERIFIED: 'block.verified', ORPHANED: 'transfer.orphaned' };
    const versions = await transferVersions(admin.kysely);
    expect(Object.fromEntries(last)).toEqual(
      Object.fromEntries(versions.map((t) => [t.id, says[t.state as keyof typeof says]])),
    );
    return verified;
  }

  return {
    get admin(): Db {
      return admin.kysely;
    },
    get scanner(): Db {
      return scanner.kysely;
    },
    signedTransactions,
    createWorld,
    checkEndState,
    checkEvents,
  };
}
