import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { tokenBalance } from '@opentill/devnet/evm-devnet';
import { callRpc } from '@opentill/devnet/json-rpc';
import { tronTokenBalance } from '@opentill/devnet/tron-payments';
import { waitUntil } from '@opentill/testkit/wait-until';
import { findFreePorts } from '../src/find-free-ports.ts';
import type { GatewayOptions } from '../src/gateway-options.ts';
import { startGateway, type Gateway } from '../src/start-gateway.ts';

let stateDir = '';
let gateway: Gateway | undefined;

function makeStateDirectory(): void {
  stateDir = mkdtempSync(join(tmpdir(), 'opentill-local-'));
  chmodSync(stateDir, 0o711);
}

async function stopAndLookForRemains(): Promise<void> {
  await gateway?.stop();
  gateway = undefined;
  expect(processesOf(stateDir)).toEqual([]);
  rmSync(stateDir, { recursive: true, force: true });
}

async function optionsOf(changes: Partial<GatewayOptions> = {}): Promise<GatewayOptions> {
  return {
    stateDir,
    keep: false,
    ports: await findFreePorts(),
    merchant: {
      token: 'a-token',
      webhookSecret: 'a-secret',
      callbackUrl: 'http://localhost:1/callbacks',
      version: 'V3',
    },
    given: {},
    services: ['demo-shop', 'scanner-tron'],
    ...changes,
  };
}

/** Command lines of processes that name the directory, in their arguments, environment or working directory. */
function processesOf(directory: string): string[] {
  const read = (pid: string, name: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, 'latin1').replaceAll('\0', ' ');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) => `${read(pid, 'cmdline')} ${read(pid, 'environ')}`.includes(directory))
    .map((pid) => `${pid} ${read(pid, 'cmdline')}`);
}

async function bookedEntries(running: Gateway): Promise<number> {
  const client = new pg.Client({ connectionString: running.database.url });
  await client.connect();
  try {
    const { rows } = await client.query<{ count: number }>(
      'select count(*)::int as count from ledger_posting',
    );
    return rows[0]?.count ?? 0;
  } finally {
    await client.end();
  }
}

/** How far scanner-tron has verified: whether it finds the chain again that it knows. */
async function solidHeight(running: Gateway): Promise<number> {
  const client = new pg.Client({ connectionString: running.database.url });
  await client.connect();
  try {
    let height = 0;
    await waitUntil('TRON is read', async () => {
      const { rows } = await client.query<{ height: number }>(
        `select verified_height::int as height from chain_cursor where chain = 'TRON_TEST' and updated_at > now() - interval '5 seconds'`,
      );
      height = rows[0]?.height ?? 0;
      return height > 0;
    });
    return height;
  } finally {
    await client.end();
  }
}

/** Each test goes on with the gateway that the one before it left: to start one takes long. */
describe('a gateway', () => {
  beforeAll(makeStateDirectory);
  afterAll(stopAndLookForRemains, 60_000);

  test('a kept gateway goes on with its chains, its wallet and its ledger; a fresh one has none of them', async () => {
    gateway = await startGateway(await optionsOf());
    const [chain] = gateway.chains;
    const { rpcUrl } = chain!.node;
    const wallet = gateway.wallet.evmHotWallet;
    const usdt = chain!.network.tokens[0]!.contract!;
    const genesis = await callRpc<{ hash: string }>(rpcUrl, 'eth_getBlockByNumber', ['0x0', false]);
    expect(await tokenBalance(rpcUrl, usdt, wallet)).toBe(1_000_000_000_000n);
    const { tronHotWallet } = gateway.wallet;
    const usdtOnTron = gateway.tron!.network.tokens[0]!.contract!;
    expect(await tronTokenBalance(gateway.tron!.node.url, usdtOnTron, tronHotWallet)).toBe(
      1_000_000_000_000n,
    );
    const booked = await bookedEntries(gateway);
    const height = await solidHeight(gateway);
    expect(booked).toBeGreaterThan(0);
    await gateway.stop();
    expect(processesOf(stateDir)).toEqual([]);

    gateway = await startGateway(await optionsOf({ keep: true }));
    const keptUrl = gateway.chains[0]!.node.rpcUrl;
    expect(await callRpc(keptUrl, 'eth_getBlockByNumber', ['0x0', false])).toMatchObject({
      hash: genesis.hash,
    });
    expect(await tokenBalance(keptUrl, usdt, wallet)).toBe(1_000_000_000_000n);
    expect(await tronTokenBalance(gateway.tron!.node.url, usdtOnTron, tronHotWallet)).toBe(
      1_000_000_000_000n,
    );
    expect(await solidHeight(gateway)).toBeGreaterThanOrEqual(height);
    expect(await bookedEntries(gateway)).toBe(booked);
    await gateway.stop();

    gateway = await startGateway(await optionsOf({ durable: false }));
    const freshUrl = gateway.chains[0]!.node.rpcUrl;
    const fresh = await callRpc<{ hash: string }>(freshUrl, 'eth_getBlockByNumber', ['0x0', false]);
    expect(fresh.hash).not.toBe(genesis.hash);
    expect(await bookedEntries(gateway)).toBe(booked);
  }, 180_000);

  test('a service that was stopped on purpose is not missed, and starts again', async () => {
    const before = gateway!.services.get('demo-shop')!;
    await gateway!.stopService('demo-shop', 'SIGKILL');
    const after = await gateway!.startService('demo-shop');
    expect(after.pid).not.toBe(before.pid);
    expect((await fetch(`${gateway!.shopUrl}/devnet`)).status).toBe(200);
    let hasDied = false;
    gateway!.died.catch(() => (hasDied = true));
    await new Promise(setImmediate);
    expect(hasDied).toBe(false);
  }, 60_000);

  test('a service that dies is named with its last lines, and everything else can be stopped', async () => {
    const shop = gateway!.services.get('demo-shop')!;
    process.kill(shop.pid, 'SIGKILL');
    await expect(gateway!.died).rejects.toMatchObject({
      code: 'MEMBER_DIED',
      message: expect.stringContaining('demo-shop ended unexpectedly'),
    });
  }, 60_000);
});

describe('a start that fails', () => {
  beforeEach(makeStateDirectory);
  afterEach(stopAndLookForRemains, 60_000);

  test('an abort while starting stops what was started', async () => {
    const abort = new AbortController();
    const say = (line: string): void => {
      if (line.startsWith('setup')) abort.abort(new Error('changed my mind'));
    };
    await expect(
      startGateway(await optionsOf({ durable: false, signal: abort.signal, say })),
    ).rejects.toThrow('changed my mind');
    expect(processesOf(stateDir)).toEqual([]);
  }, 120_000);

  test('a taken port is told by its number, its purpose and its owner, before anything starts', async () => {
    const options = await optionsOf();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(options.ports.health.api, '127.0.0.1', resolve));
    try {
      await expect(startGateway(options)).rejects.toMatchObject({
        code: 'PORT_TAKEN',
        message: expect.stringMatching(
          new RegExp(
            `Port ${options.ports.health.api}, needed for the health of api, .*process ${process.pid} `,
          ),
        ),
      });
      expect(readdirSync(stateDir)).toEqual([]);
    } finally {
      server.close();
    }
  });
});
