import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { exitCodeOf } from '@opentill/runtime/service';
import { findFreePort } from '@opentill/test-servers/free-port';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import { composeScanner } from '../src/compose.ts';
import { createScannerWorld, type ScannerWorld } from './scanner-harness.ts';

let world: ScannerWorld;
let dir: string;
let networksFile: string;
const running = new Set<ScannerProcess>();

interface ScannerProcess {
  readonly child: ChildProcess;
  output(): string;
  readonly ended: Promise<number | string>;
}

beforeAll(async () => {
  world = await createScannerWorld();
  dir = await mkdtemp(join(tmpdir(), 'scanner-process-'));
  networksFile = join(dir, 'networks.json');
  await writeFile(networksFile, JSON.stringify({ networks: [world.network] }));
});
afterEach(async () => {
  for (const scanner of running) scanner.child.kill('SIGKILL');
  await Promise.all([...running].map((scanner) => scanner.ended));
});
afterAll(async () => {
  await world.close();
  await rm(dir, { recursive: true });
});

async function environment() {
  return {
    ...NODE_ENVIRONMENT,
    DATABASE_URL: world.database.url('scanner_evm'),
    AMQP_URL: await world.broker.urlFor('scanner-evm'),
    NETWORKS_FILE: networksFile,
  };
}

async function startProcess(env: Readonly<Record<string, string>> = {}): Promise<ScannerProcess> {
  const main = join(import.meta.dirname, '../src/main.ts');
  const child = spawn(
    process.execPath,
    ['--conditions=source', '--disable-warning=ExperimentalWarning', main],
    {
      env: { ...(await environment()), HEALTH_PORT: `${await findFreePort()}`, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const scanner: ScannerProcess = { child, output: () => output, ended };
  running.add(scanner);
  void ended.then(() => running.delete(scanner));
  return scanner;
}

describe('scanner process', () => {
  it.each([
    [{ CHAINS: 'ETH_SEPOLIA,DOGE' }, ['DOGE']],
    [
      { DATABASE_URL: 'mysql://x', AMQP_URL: '', HEALTH_PORT: 'x' },
      ['DATABASE_URL', 'AMQP_URL', 'HEALTH_PORT'],
    ],
  ])('exits with code 1 and names every mistake of %o', async (settings, names) => {
    const env = { ...(await environment()), ...settings };
    const context = { fail: () => undefined, sharesProcess: true };
    const error: unknown = await composeScanner(env, context).catch((refusal: unknown) => refusal);
    expect(exitCodeOf(error)).toBe(1);
    for (const name of names) expect(String(error)).toContain(name);
  });

  it('exits with code 1 and prints why when the node serves another network', async () => {
    const wrong = join(dir, 'wrong.json');
    await writeFile(
      wrong,
      JSON.stringify({ networks: [{ ...world.network, chain: 'BSC_TEST', chainId: 97 }] }),
    );
    const scanner = await startProcess({ NETWORKS_FILE: wrong });
    expect(await scanner.ended).toBe(1);
    expect(scanner.output()).toContain('WRONG_CHAIN');
    await expect(world.cursor()).rejects.toThrow('no cursor yet');
  });

  // hand-over.full.test.ts covers a process that is frozen while it leads.
  it('scans and exits cleanly on SIGTERM', async () => {
    const scanner = await startProcess();
    await world.caughtUp();
    await world.pay(await world.newDepositAddress(), 1n);
    await world.mine(3);
    await world.caughtUp();
    expect(await world.paymentsOnChain()).toHaveLength(1);
    expect(await world.recorded('VERIFIED')).toEqual(await world.paymentsOnChain());
    scanner.child.kill('SIGTERM');
    expect(await scanner.ended).toBe(0);
  });
});
