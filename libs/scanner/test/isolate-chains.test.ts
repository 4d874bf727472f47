import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import { readerError } from '@opentill/chain/reader-error';
import type { Database } from '@opentill/db/database';
import { PRESETS, type Chain } from '@opentill/domain/chains';
import { connectBroker, type Broker } from '@opentill/messaging/connection';
import { systemClock, type Clock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createScanner, type ScannerApp } from '../src/create-scanner.ts';
import { createMockNode, type MockNode } from './mock-node.ts';
import { createTestLogger, forgetScans, MOCK_NETWORK, type LogLine } from './scan-harness.ts';

const CHAINS = ['ETH_SEPOLIA', 'BSC_TEST'] as const;
const NO_CODE = 'there is no contract at 0xusdt';

let database: TestDatabase;
let admin: Database;
let scanner: Database;
let rabbit: TestBroker;
let broker: Broker;
let nodes: Record<(typeof CHAINS)[number], MockNode>;
let log: LogLine[];
let failures: unknown[];
let metrics: Metrics;
let app: ScannerApp;
let mismatches: Map<Chain, string>;
let hanging: Map<Chain, Promise<void>>;
let clock: Clock;

beforeAll(async () => {
  [database, rabbit] = await Promise.all([createTestDatabase(), createTestBroker()]);
  admin = database.open('admin');
  scanner = database.open('scanner_evm');
  broker = connectBroker({
    url: await rabbit.urlFor('scanner-evm'),
    logger: createTestLogger(undefined),
    name: 'test',
  });
});
beforeEach(async () => {
  await forgetScans(admin.kysely);
  await sql`delete from chain_status`.execute(admin.kysely).catch(() => undefined);
  nodes = { ETH_SEPOLIA: createMockNode('ETH_SEPOLIA'), BSC_TEST: createMockNode('BSC_TEST') };
  for (const node of Object.values(nodes)) for (let i = 0; i < 20; i += 1) node.mine();
  [log, failures, mismatches, hanging, clock] = [[], [], new Map(), new Map(), systemClock];
});
afterEach(() => app.stop());
afterAll(async () => {
  await broker.close();
  await scanner.close();
  await admin.close();
  await Promise.all([database.drop(), rabbit.drop()]);
});

function start(): void {
  metrics = createMetrics('test');
  app = createScanner({
    db: scanner.kysely,
    schema: 'scanner_evm',
    broker,
    logger: createTestLogger(log),
    metrics,
    clock,
    newId,
    instanceId: newId(),
    fail: (error) => failures.push(error),
    leaseTtlMs: 60_000, // a stalled machine must not lose the lease
    openNetworks: () =>
      CHAINS.map((chain) => ({
        network: { ...MOCK_NETWORK, chain, chainId: PRESETS[chain].chainId },
        reader: {
          ...nodes[chain].reader,
          async checkNetwork(options) {
            const aborted = new Promise<never>((_resolve, reject) => {
              options?.signal?.addEventListener('abort', () =>
                reject(readerError('READ_ABORTED', 'stopped')),
              );
            });
            await Promise.race([hanging.get(chain), aborted]);
            const mismatch = mismatches.get(chain);
            if (mismatch !== undefined) throw readerError('TOKEN_MISMATCH', mismatch);
          },
        },
      })),
  });
  app.start();
}

const verified = async (chain: Chain): Promise<number | undefined> => {
  const { rows } = await sql<{ height: number }>`
    select verified_height as height from chain_cursor where chain = ${chain}`.execute(admin.kysely);
  return rows[0]?.height;
};
const isScanned = (chain: Chain) =>
  waitUntil(`${chain} is scanned`, async () => (await verified(chain)) === 18);
const readiness = (chain: Chain) => app.checks[chain]!();
/** Reported after the commit that `isScanned` sees. */
const runs = (chain: Chain) => waitUntil(`${chain} runs`, async () => (await readiness(chain)).ok);
const stored = async (chain: Chain): Promise<string> => {
  const { rows } = await sql<{ text: string }>`
    select concat_ws(': ', state, reason, detail) as text from chain_status where chain = ${chain}`.execute(
    admin.kysely,
  );
  return rows[0]?.text ?? '';
};
const alarmLines = () =>
  log
    .filter(({ message }) => message.startsWith('alarm'))
    .map(({ message, fields }) => `${message} ${String(fields['chain'])} ${String(fields['kind'])}`);

test('leaves out only the chain whose token has no code', async () => {
  mismatches.set('BSC_TEST', NO_CODE);
  start();
  await isScanned('ETH_SEPOLIA');
  await waitUntil('BSC_TEST is left out', async () => (await stored('BSC_TEST')).startsWith('LEFT_OUT'));
  expect(failures).toEqual([]);
  await runs('ETH_SEPOLIA');
  const why = `left out: TOKEN_MISMATCH: ${NO_CODE}`;
  expect(await readiness('BSC_TEST')).toEqual({ ok: true, detail: why }); // ETH_SEPOLIA is read
  expect(await stored('BSC_TEST')).toBe(`LEFT_OUT: TOKEN_MISMATCH: ${NO_CODE}`);
  const text = await metrics.render();
  expect(text).toMatch(/opentill_scanner_alarm_bool\{chain="BSC_TEST",kind="left-out".*\} 1/);
  expect(text).toMatch(/opentill_scanner_chain_state_bool\{chain="BSC_TEST",state="LEFT_OUT".*\} 1/);

  mismatches.clear();
  await isScanned('BSC_TEST');
  await waitUntil('it is reported', async () => (await stored('BSC_TEST')) === 'RUNNING');
  expect(await readiness('BSC_TEST')).toMatchObject({ ok: true });
  expect(alarmLines()).toEqual(['alarm raised BSC_TEST left-out', 'alarm cleared BSC_TEST left-out']);
  expect(log.filter(({ message }) => message === 'scan failed')).toEqual([]);
});

test('is unready while a chain starts, until it runs or has failed for 30 s', async () => {
  let nowMs = Date.now();
  clock = { now: () => new Date(nowMs) };
  const check = Promise.withResolvers<void>();
  hanging.set('BSC_TEST', check.promise);
  start();
  await isScanned('ETH_SEPOLIA');
  await runs('ETH_SEPOLIA');
  nowMs += 30_000;
  expect(await readiness('BSC_TEST')).toEqual({ ok: false, detail: 'starting' });
  nowMs += 1;
  await waitUntil('it is ready without BSC_TEST', async () => (await readiness('BSC_TEST')).ok);
  expect((await readiness('BSC_TEST')).detail).toMatch(/^failing: NO_ANSWER/);

  await app.stop();
  start();
  await runs('ETH_SEPOLIA');
  expect(await readiness('BSC_TEST')).toEqual({ ok: false, detail: 'starting' });
  check.resolve();
  await runs('BSC_TEST');
  expect((await readiness('BSC_TEST')).detail).toMatch(/^verified|standby/);
});

test('ends the process when no chain passes its start-up checks', async () => {
  mismatches.set('ETH_SEPOLIA', 'the token at 0xusdt has 18 decimals').set('BSC_TEST', NO_CODE);
  start();
  await waitUntil('it ends', () => failures.length > 0);
  expect(failures).toEqual([expect.objectContaining({ code: 'TOKEN_MISMATCH' })]);
  await waitUntil('both are reported', async () =>
    (await Promise.all(CHAINS.map(stored))).every((text) => text.startsWith('LEFT_OUT')),
  );
  for (const chain of CHAINS) expect(await readiness(chain)).toMatchObject({ ok: false });
});

test('shows one state of a halt everywhere and logs it once', async () => {
  start();
  await isScanned('ETH_SEPOLIA');
  const node = nodes.ETH_SEPOLIA;
  for (let i = 0; i < 11; i += 1) node.mine();
  await waitUntil('the window moves on', async () => (await verified('ETH_SEPOLIA')) === 29);
  node.reorg(30, ...Array.from({ length: 31 }, () => []));
  await waitUntil('it is reported', async () => (await stored('ETH_SEPOLIA')) === 'HALTED: REORG_TOO_DEEP');
  await runs('BSC_TEST');
  expect(await readiness('ETH_SEPOLIA')).toEqual({ ok: true, detail: 'halted: REORG_TOO_DEEP' });
  const failedRounds = async () =>
    Number(
      /opentill_scanner_errors_total\{[^}]*"REORG_TOO_DEEP"[^}]*\} (\d+)/.exec(await metrics.render())?.[1] ??
        0,
    );
  await waitUntil('it failed several times', async () => (await failedRounds()) >= 4);
  expect(await metrics.render()).toMatch(
    /opentill_scanner_chain_state_bool\{chain="ETH_SEPOLIA",state="HALTED".*\} 1/,
  );
  expect(alarmLines()).toEqual(['alarm raised ETH_SEPOLIA reorg-too-deep']);
  expect(log.filter(({ message }) => message === 'scan failed')).toEqual([]);

  // A restart keeps the state until a round succeeds, because the signer must not sign meanwhile.
  await app.stop();
  start();
  const seen = new Set<string>();
  await waitUntil('it fails again', async () => {
    seen.add(await stored('ETH_SEPOLIA'));
    return (await failedRounds()) >= 2;
  });
  expect([...seen]).toEqual(['HALTED: REORG_TOO_DEEP']);
  expect((await stored('BSC_TEST')).startsWith('HALTED')).toBe(false);
});
