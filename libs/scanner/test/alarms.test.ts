import { beforeEach, describe, expect, it } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import type { SourceHealth } from '@opentill/chain/source-health';
import type { TokenWarning } from '@opentill/chain/token-warning';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { createMockNode, MOCK_TOKEN, type MockNode } from './mock-node.ts';
import { CHAIN, forgetScans, MOCK_NETWORK, openScan, type LogLine, type TestScan } from './scan-harness.ts';

const database = await openTestDatabase();
const { admin } = database;
const scanner = database.open('scanner_evm');

let node: MockNode;
let log: LogLine[];

beforeEach(async () => {
  await forgetScans(admin.kysely);
  node = createMockNode(CHAIN);
  for (let i = 0; i < 20; i += 1) node.mine();
  log = [];
});

type Warnings = readonly TokenWarning[];
const network = { ...MOCK_NETWORK, headStaleSeconds: 120 };

/** The clock shows the time of the head block. */
async function openAtHead(sources?: () => readonly SourceHealth[]): Promise<TestScan> {
  const scan = await openScan({
    db: scanner.kysely,
    reader: sources === undefined ? node.reader : { ...node.reader, sources },
    network,
    log,
  });
  scan.clock.pass(node.head().timeSeconds * 1_000 - scan.clock.now().getTime());
  return scan;
}

async function round(scan: TestScan): Promise<void> {
  try {
    await scan.tick();
  } catch (error) {
    scan.observe.failed(CHAIN, 'seen', error, 1);
  }
}

async function raised(scan: TestScan): Promise<readonly string[]> {
  const text = await scan.metrics.render();
  return [...text.matchAll(/^opentill_scanner_alarm_bool\{chain="ETH_SEPOLIA",kind="([^"]+)".*\} 1$/gm)].map(
    (found) => found[1]!,
  );
}

const edges = (): readonly string[] =>
  log
    .filter((line) => line.message.startsWith('alarm'))
    .map((line) => `${line.message} ${String(line.fields['kind'])}`);

describe('stalled head', () => {
  it.each(['no new block', 'no answer'])(
    'makes the chain unready after %s and logs each alarm change once',
    async (why) => {
      const scan = await openAtHead();
      await round(scan);
      expect(scan.observe.health(CHAIN)).toEqual({ ok: true, detail: 'verified 18 of 20' });
      if (why === 'no answer') {
        node.faults.beforeCall = () => {
          throw readerError('RPC_UNAVAILABLE', 'down');
        };
      }
      for (let i = 0; i < 13; i += 1) {
        scan.clock.pass(10_000);
        await round(scan);
      }
      const { ok, detail } = scan.observe.health(CHAIN);
      expect(ok).toBe(false);
      expect(detail).toBe(
        why === 'no new block'
          ? 'failing: HEAD_STALE'
          : 'failing: RPC_UNAVAILABLE: no successful round for 30 s',
      );
      expect(await raised(scan)).toEqual(['head-stale']);
      node.faults.beforeCall = undefined;
      for (let i = 0; i < 11; i += 1) node.mine();
      await round(scan);
      expect(scan.observe.health(CHAIN).ok).toBe(true);
      expect(await raised(scan)).toEqual([]);
      expect(edges()).toEqual(['alarm raised head-stale', 'alarm cleared head-stale']);
    },
  );
});

describe('source alarms', () => {
  it('raises sources-disagree until a block is verified', async () => {
    const scan = await openAtHead();
    await round(scan);
    node.mine();
    node.faults.beforeCall = (method) => {
      if (method === 'readVerified') throw readerError('INCONSISTENT_ANSWER', 'two forks');
    };
    for (let i = 0; i < 8; i += 1) {
      scan.clock.pass(11_000);
      node.mine();
      await round(scan);
    }
    expect(await raised(scan)).toEqual(['sources-disagree', 'verification-failing']);
    expect(scan.observe.health(CHAIN).ok).toBe(true); // payments are still shown
    node.faults.beforeCall = undefined;
    scan.clock.pass(11_000);
    await round(scan);
    expect(await raised(scan)).toEqual([]);
    expect(edges()).toEqual([
      'alarm raised sources-disagree',
      'alarm raised verification-failing',
      'alarm cleared sources-disagree',
      'alarm cleared verification-failing',
    ]);
  });

  it('names sources that lag or serve another network', async () => {
    const well: SourceHealth = {
      place: 0,
      label: 'a.example:443',
      usable: true,
      trouble: null,
      failingSinceSeconds: null,
      isSingleSource: false,
      score: 1,
      headLagBlocks: 0,
      lastErrorCode: null,
    };
    let other: SourceHealth = { ...well, label: 'b.example:443' };
    const scan = await openAtHead(() => [well, other]);
    await round(scan);
    expect(await raised(scan)).toEqual([]);
    other = { ...other, usable: false, trouble: 'LAGGING', headLagBlocks: 12 };
    await round(scan);
    expect(await raised(scan)).toEqual(['source-lagging']);
    expect(scan.observe.health(CHAIN)).toEqual({
      ok: true,
      detail: 'verified 18 of 20; behind: b.example:443',
    });
    other = { ...other, trouble: 'WRONG_CHAIN' };
    await round(scan);
    expect(await raised(scan)).toEqual(['source-wrong']);
  });
});

describe('head time', () => {
  it('uses the last head time, so that a future one cannot hide a stalled chain', async () => {
    const scan = await openAtHead();
    await round(scan);
    const head = node.head();
    scan.observe.headNamed(CHAIN, { ...head, timeSeconds: head.timeSeconds + 10 ** 9 }, false);
    scan.clock.pass(60_000);
    scan.observe.headNamed(CHAIN, { ...head, timeSeconds: head.timeSeconds + 100 }, false);
    scan.clock.pass(61_000);
    await round(scan);
    expect(await raised(scan)).toEqual(['head-stale']);
  });
});

describe('halted chain', () => {
  it('raises the alarm of a halted chain, which is not ready', async () => {
    const scan = await openAtHead();
    for (let i = 0; i < 11; i += 1) node.mine();
    await round(scan);
    await round(scan);
    node.reorg(30, ...Array.from({ length: 31 }, () => []));
    await round(scan);
    expect(scan.observe.health(CHAIN)).toEqual({ ok: false, detail: 'halted: REORG_TOO_DEEP' });
    expect(await raised(scan)).toContain('reorg-too-deep');
    expect(edges()).toContain('alarm raised reorg-too-deep');
  });

  it('clears the alarms of a halted chain when another replica takes over', async () => {
    const scan = await openAtHead();
    await round(scan);
    scan.clock.pass(130_000);
    await round(scan);
    expect(await raised(scan)).toEqual(['head-stale']);
    node.faults.beforeCall = () => {
      throw readerError('RPC_UNAVAILABLE', 'down');
    };
    await round(scan);
    await scan.lease.release();
    await round(scan);
    expect(await raised(scan)).toEqual([]);
    expect(scan.observe.health(CHAIN)).toEqual({ ok: true, detail: 'standby' });
  });

  it('drops token warnings that arrive after the lease was lost', async () => {
    const [before, after] = [Promise.withResolvers<Warnings>(), Promise.withResolvers<Warnings>()];
    const questions = [before, after];
    const tokenWarnings = (): Promise<Warnings> => questions.shift()?.promise ?? Promise.resolve([]);
    const scan = await openScan({
      db: scanner.kysely,
      reader: { ...node.reader, tokenWarnings },
      network,
      log,
    });
    scan.clock.pass(node.head().timeSeconds * 1_000 - scan.clock.now().getTime());
    await round(scan);
    await scan.lease.release();
    await round(scan);
    before.resolve([{ kind: 'PAUSED', contract: MOCK_TOKEN }]);
    await before.promise;
    await round(scan);
    await scan.lease.acquire();
    await round(scan);
    expect(await raised(scan)).toEqual([]);
    after.resolve([{ kind: 'PAUSED', contract: MOCK_TOKEN }]);
    await after.promise;
    await round(scan);
    expect(await raised(scan)).toEqual(['token-paused']);
  });
});
