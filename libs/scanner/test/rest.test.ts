import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { keepLease } from '@opentill/db/lease';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createMetrics } from '@opentill/runtime/metrics';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createObserve } from '../src/observe.ts';
import { createChainGates, startChainScan } from '../src/scan-chain.ts';
import type { ScanNetwork } from '../src/scan-network.ts';
import { createScanStore } from '../src/store/scan-store.ts';
import { aTx, createMockNode, type MockNode } from './mock-node.ts';
import {
  address,
  CHAIN,
  closeNonceOf,
  createTestLogger,
  forgetScans,
  giveOut,
  MOCK_NETWORK,
  openScan,
  recordedFates,
  recordedTransfers,
  signPayout,
  storedCursor,
  type LogLine,
  type TestScan,
} from './scan-harness.ts';

const POLL_MS = 3_000;
const REST_POLLS = 10;
const NETWORK: ScanNetwork = {
  ...MOCK_NETWORK,
  pollIntervalMs: POLL_MS,
  restIntervalMs: REST_POLLS * POLL_MS,
};
const ALICE = address('alice');

const database = await openTestDatabase();
const { admin } = database;
const signer = database.open('signer');
const scanner = database.open('scanner_evm');

let node: MockNode;
let log: LogLine[];

beforeAll(async () => {
  await giveOut(admin.kysely, [ALICE]);
});
beforeEach(async () => {
  await forgetScans(admin.kysely);
  await setOrders('EXPIRED');
  node = createMockNode(CHAIN);
  for (let i = 0; i < 20; i += 1) node.mine();
  log = [];
});

const setOrders = (status: string): Promise<unknown> =>
  sql`update orders set status = ${status} where order_type = 'COLLECTION'`.execute(admin.kysely);

/** Polls like the loop of a chain; returns the methods that the nodes were asked. */
async function poll(scan: TestScan, times = 1): Promise<readonly string[]> {
  const before = node.calls.length;
  for (let i = 0; i < times; i += 1) {
    scan.clock.pass(POLL_MS);
    try {
      await scan.tick();
    } catch (error) {
      scan.observe.failed(CHAIN, 'seen', error, 1);
    }
  }
  return node.calls.slice(before);
}

async function openResting(network: ScanNetwork = NETWORK): Promise<TestScan> {
  const scan = await openScan({ db: scanner.kysely, reader: node.reader, network, log });
  expect(await poll(scan, 3)).toContain('head');
  expect(await poll(scan)).toEqual([]);
  return scan;
}

async function isAwake(scan: TestScan): Promise<boolean> {
  const calls = await poll(scan, 3);
  return calls.filter((method) => method === 'head').length === 3;
}

describe('rest', () => {
  it('asks the nodes of a chain without work once per rest', async () => {
    const scan = await openResting();
    node.mine();
    node.mine();
    expect(await poll(scan, 5)).toEqual([]);
    const calls = await poll(scan, 2 * REST_POLLS);
    expect(calls.filter((method) => method === 'head')).toHaveLength(2);
    expect(await storedCursor(admin.kysely)).toMatchObject({ head: 22, seen: 20, verified: 20 });
  });

  it('reads at rest only blocks that are deep enough, once', async () => {
    const scan = await openResting();
    for (let i = 0; i < 4; i += 1) node.mine();
    node.reads.length = 0;
    await poll(scan, REST_POLLS);
    expect(node.reads).toEqual([{ method: 'readVerified', from: 19, to: 22 }]);
    expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 22, verified: 22 });
  });

  it('reads the gap to the head once when an order ends the rest', async () => {
    const scan = await openResting();
    for (let i = 0; i < 4; i += 1) node.mine();
    node.reads.length = 0;
    await setOrders('INIT');
    await poll(scan);
    expect(node.reads.toSorted((a, b) => a.from - b.from)).toEqual([
      { method: 'readVerified', from: 19, to: 22 },
      { method: 'readSeen', from: 23, to: 24 },
    ]);
    expect(await storedCursor(admin.kysely)).toMatchObject({ seen: 24, verified: 22 });
  });

  it('verifies blocks that no payment waits for once per rest, also with an open order', async () => {
    const scan = await openResting();
    await setOrders('INIT');
    await poll(scan);
    node.reads.length = 0;
    for (let i = 0; i < 2 * REST_POLLS; i += 1) {
      node.mine();
      await poll(scan);
    }
    expect(node.reads.filter(({ method }) => method === 'readSeen')).toHaveLength(2 * REST_POLLS);
    expect(node.reads.filter(({ method }) => method === 'readVerified').length).toBeLessThan(8);
  });

  it('verifies a late payment at a rest, once it is deep enough', async () => {
    const scan = await openResting();
    node.mine(aTx({ to: ALICE, amount: 5n }));
    await poll(scan, REST_POLLS);
    expect(await recordedTransfers(admin.kysely)).toEqual([]);
    node.mine();
    node.mine();
    await poll(scan, REST_POLLS);
    expect(await recordedTransfers(admin.kysely)).toMatchObject([{ to: ALICE, state: 'VERIFIED' }]);
    expect(await poll(scan, 5)).toEqual([]);
  });
});

describe('end of a rest', () => {
  it.each(['INIT', 'PENDING', 'PENDING_CONFIRMATION'])(
    'follows a resting chain from the next poll after an order is %s',
    async (status) => {
      const scan = await openResting();
      node.mine();
      await setOrders(status);
      expect(await poll(scan)).toContain('head');
      expect((await storedCursor(admin.kysely)).seen).toBe(21);
      expect(await isAwake(scan)).toBe(true);
    },
  );

  it('follows the chain while an own transaction is signed, mined or not verified', async () => {
    const scan = await openResting();
    const paid = await signPayout({ signer: signer.kysely, admin: admin.kysely });
    expect(await isAwake(scan)).toBe(true);
    node.mine(paid);
    expect(await isAwake(scan)).toBe(true);
    await closeNonceOf(signer.kysely, paid); // only the outcome is open
    expect(await isAwake(scan)).toBe(true);
    node.mine();
    node.mine();
    await poll(scan, 2);
    expect(await recordedFates(admin.kysely)).toEqual([`${paid.hash} VERIFIED 21`]);
    expect(await poll(scan, 5)).toEqual([]);

    // Only the round knows that the transaction is open again: its nonce stays used.
    node.reorg(3, [], [], [], []);
    await poll(scan, REST_POLLS);
    expect(await recordedFates(admin.kysely)).toEqual([`${paid.hash} ORPHANED 21`]);
    expect(await isAwake(scan)).toBe(true);
  });

  it('follows the chain until a rescan is done', async () => {
    const scan = await openResting();
    await sql`insert into rescan_request (chain, from_height, to_height) values (${CHAIN}, 3, 5)`.execute(
      admin.kysely,
    );
    await poll(scan, 3);
    const { rows } = await sql<{ done: boolean }>`
      select done_at is not null as done from rescan_request`.execute(admin.kysely);
    expect(rows).toEqual([{ done: true }]);
    expect(await poll(scan, 5)).toEqual([]);
  });

  it('asks no node during a pause, and follows the chain at its end', async () => {
    const scan = await openResting();
    await sql`insert into chain_pause (chain, operator, reason) values (${CHAIN}, 'o', 'r')`.execute(
      admin.kysely,
    );
    expect(await poll(scan, 3)).toEqual([]); // less than is left of the rest
    expect(scan.observe.status(CHAIN).state).toBe('PAUSED');
    await sql`delete from chain_pause`.execute(admin.kysely);
    expect(await poll(scan)).toContain('head');
    expect(scan.observe.status(CHAIN).state).toBe('RUNNING');
  });

  it('follows the chain on the replica that takes the lease', async () => {
    const scan = await openResting();
    await scan.lease.release();
    const other = await openScan({
      db: scanner.kysely,
      reader: node.reader,
      network: NETWORK,
      holder: 'replica-2',
    });
    expect(await poll(scan, 2 * REST_POLLS)).toEqual([]);
    expect(scan.observe.health(CHAIN)).toEqual({ ok: true, detail: 'standby' });
    expect(await poll(other)).toContain('head');
  });

  it('follows the chain after a failed round until the nodes answer', async () => {
    const scan = await openResting();
    node.faults.beforeCall = () => {
      throw readerError('RPC_UNAVAILABLE', 'down');
    };
    // Six polls are left of the rest.
    expect(await poll(scan, REST_POLLS)).toEqual(['head', 'head', 'head', 'head']);
    node.faults.beforeCall = undefined;
    expect(await poll(scan)).toContain('head');
    expect(await poll(scan, 5)).toEqual([]);
  });

  it('follows the chain while its finality is unknown', async () => {
    node.finalize(18);
    const finality = { staleSeconds: 600 };
    const scan = await openResting({ ...NETWORK, confirmations: 'finalized', finality });
    node.faults.finalityStalled = true;
    await poll(scan, REST_POLLS);
    expect(await isAwake(scan)).toBe(true);
    node.faults.finalityStalled = false;
    await poll(scan, 5);
    expect(await poll(scan, 3)).toEqual([]);
  });

  it('follows the chain while no block can be verified', async () => {
    const scan = await openResting();
    node.mine();
    node.faults.beforeCall = (method) => {
      if (method === 'readVerified') throw readerError('INCONSISTENT_ANSWER', 'two forks');
    };
    await poll(scan, REST_POLLS);
    expect(await isAwake(scan)).toBe(true);
  });
});

describe('alarms at rest', () => {
  const raised = async (scan: TestScan): Promise<readonly string[]> =>
    [...(await scan.metrics.render()).matchAll(/alarm_bool\{.*kind="([^"]+)".*\} 1$/gm)].map(
      (found) => found[1]!,
    );
  /** The head may be 15 s old; blocks come every 12 s, and the rest is 60 s. */
  async function openStrict(): Promise<TestScan> {
    const network = { ...NETWORK, headStaleSeconds: 15, restIntervalMs: 60_000 };
    const scan = await openScan({ db: scanner.kysely, reader: node.reader, network, log });
    scan.clock.pass(node.head().timeSeconds * 1_000 - scan.clock.now().getTime());
    await poll(scan, 3);
    return scan;
  }

  it('raises no alarm through rests while the nodes are well', async () => {
    const judged: string[] = [];
    const scan = await openStrict();
    const judge = (): unknown => judged.push(scan.observe.status(CHAIN).state);
    node.faults.beforeCall = judge; // also between the head and the commit of a round
    for (let i = 0; i < 45; i += 1) {
      const isBlockDue = scan.clock.now().getTime() / 1_000 >= node.head().timeSeconds + 9;
      if (isBlockDue) node.mine();
      await poll(scan);
      judge();
    }
    expect(new Set(judged)).toEqual(new Set(['RUNNING']));
    expect(node.calls.filter((method) => method === 'head').length).toBeLessThan(8);
    expect(log.filter(({ message }) => message.startsWith('alarm'))).toEqual([]);
  });

  it('reports nodes that fail during a rest 30 s after its end', async () => {
    const scan = await openStrict();
    node.faults.beforeCall = () => {
      throw readerError('RPC_UNAVAILABLE', 'down');
    };
    await poll(scan, 20);
    expect(scan.observe.health(CHAIN).ok).toBe(true);
    await poll(scan, 11);
    expect(scan.observe.health(CHAIN)).toEqual({
      ok: false,
      detail: 'failing: RPC_UNAVAILABLE: no successful round for 30 s',
    });
    expect(await raised(scan)).toEqual(['head-stale']);
  });

  it('reports a chain that stops during a rest', async () => {
    const scan = await openStrict();
    await poll(scan, 21);
    expect(await raised(scan)).toEqual(['head-stale']);
    expect(scan.observe.health(CHAIN)).toEqual({ ok: false, detail: 'failing: HEAD_STALE' });
  });
});

describe('loops of a resting chain', () => {
  it('subscribes to heads only while an order is open', async () => {
    let subscriptions = 0;
    const heads: (() => void)[] = [];
    const reader: ChainReader = {
      ...node.reader,
      subscribeHeads(onHead, signal) {
        heads.push(onHead);
        subscriptions += 1;
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(void (subscriptions -= 1)), { once: true });
        });
      },
    };
    const logger = createTestLogger(undefined);
    const lease = keepLease({
      db: scanner.kysely,
      schema: 'scanner_evm',
      name: `chain:${CHAIN}`,
      holder: 'loops',
      ttlMs: 60_000,
    });
    const scan = startChainScan({
      network: { ...MOCK_NETWORK, pollIntervalMs: 10, restIntervalMs: 60_000 },
      reader,
      store: createScanStore({ db: scanner.kysely, schema: 'scanner_evm', clock: systemClock, newId }),
      observe: createObserve({ metrics: createMetrics('test'), logger, clock: systemClock }),
      clock: systemClock,
      lease,
      leaseIntervalMs: 20_000,
      onCommitted: () => undefined,
      gates: createChainGates(systemClock, () => undefined),
    });
    try {
      await waitUntil('it rests', () => heads.length === 1 && subscriptions === 0);
      const asked = node.calls.length;
      heads[0]!(); // a notice on its way
      node.mine();
      await setOrders('INIT');
      await waitUntil('it follows', () => subscriptions === 1 && node.calls.length > asked);
      await waitUntil('it has seen the block', async () => (await storedCursor(admin.kysely)).seen === 21);
      await setOrders('EXPIRED');
      await waitUntil('it rests again', () => subscriptions === 0);
    } finally {
      await scan.stop();
    }
    expect(subscriptions).toBe(0);
  });
});
