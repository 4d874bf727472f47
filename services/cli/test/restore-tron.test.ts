import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Database } from '@opentill/db/database';
import { hashOperatorToken, newOperatorToken } from '@opentill/db/operators';
import { anEvmAddress } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { sql } from 'kysely';
import { runCli } from '../src/run-cli.ts';

const TRON_WALLET = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH';
const EVM_WALLET = anEvmAddress();
const TOKEN = newOperatorToken('me');

let folder: string;
let database: TestDatabase;
let admin: Database;
let node: Server;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-restore-'));
  database = await createTestDatabase();
  admin = database.open('admin');
  // A chain on which nobody ever sent anything.
  node = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const asked = JSON.parse(text) as { id: number; method: string } | { id: number; method: string }[];
      const answers = [asked].flat().map(({ id, method }) => {
        return { jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0xaa36a7' : '0x0' };
      });
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]));
    });
  });
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
  const common = { enabled: true, name: 'a chain', rpcUrls: [url], pollIntervalMs: 1_000 };
  const evm = {
    chain: 'ETH_SEPOLIA',
    family: 'EVM',
    chainId: 11_155_111,
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
  };
  const tron = {
    chain: 'TRON_TEST',
    family: 'TRON',
    genesisId: '0x12345678',
    nativeSymbol: 'TRX',
    nativeDecimals: 6,
  };
  const networks = [
    {
      ...common,
      ...evm,
      blockTimeMs: 12_000,
      confirmations: 3,
      reorgWindow: 64,
      maxBlockRange: 50,
      bloom: true,
    },
    {
      ...common,
      ...tron,
      blockTimeMs: 3_000,
      confirmations: 'finalized',
      reorgWindow: 60,
      maxBlockRange: 50,
    },
  ].map((one) => ({
    ...one,
    tokens: [
      {
        symbol: one.nativeSymbol,
        contract: null,
        decimals: one.nativeDecimals,
        displayDecimals: 2,
        minAmount: null,
        maxAmount: null,
      },
    ],
  }));
  writeFileSync(join(folder, 'networks.json'), JSON.stringify({ networks }));
  writeFileSync(join(folder, 'token'), TOKEN, { mode: 0o600 });
  env = {
    DATABASE_ADMIN_URL: database.adminUrl,
    NETWORKS_FILE: join(folder, 'networks.json'),
    OPS_TOKEN_FILE: join(folder, 'token'),
  };
  await sql`insert into operator (operator_id, name, role, token_hash) values ('me', 'me', 'ADMIN', ${hashOperatorToken(TOKEN)})`.execute(
    admin.kysely,
  );
  const restoreId = randomUUID();
  await sql`insert into restoration (restore_id, backup_id, taken_at) values (${restoreId}, 'b', now())`.execute(
    admin.kysely,
  );
  await sql`insert into restore_hold (restore_id, chain, wallet, from_height)
    values (${restoreId}, 'ETH_SEPOLIA', ${EVM_WALLET}, 0), (${restoreId}, 'TRON_TEST', ${TRON_WALLET}, 0)`.execute(
    admin.kysely,
  );
});
afterAll(async () => {
  await admin.close();
  await database.drop();
  node.closeAllConnections();
  node.close();
  rmSync(folder, { recursive: true, force: true });
});

async function opentill(...args: readonly string[]) {
  const out: string[] = [];
  const errors: string[] = [];
  const code = await runCli(args, {
    env,
    clock: { now: () => new Date() },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => '',
  });
  return { code, out: out.join('\n'), errors: errors.join('\n') };
}
const heldChains = async () => {
  const { rows } = await sql<{
    chain: string;
  }>`select chain from restore_hold where released_at is null order by 1`.execute(admin.kysely);
  return rows.map(({ chain }) => chain);
};

it('a restored wallet whose chain can’t be read waits alone: others are released, and it never is', async () => {
  const reconciled = await opentill('restore', 'reconcile');
  expect(reconciled).toMatchObject({ code: 0, errors: '' });
  expect(reconciled.out).toContain(`ETH_SEPOLIA ${EVM_WALLET}: reconciled`);
  expect(reconciled.out).toContain(`TRON_TEST ${TRON_WALLET}: 1 open`);
  expect(reconciled.out).toContain('waits for a way to read what wallets of TRON sent');
  expect(reconciled.out).toContain('all but 1 of 2');
  expect(await heldChains()).toEqual(['ETH_SEPOLIA', 'TRON_TEST']);

  const released = await opentill('restore', 'release', '--reason', 'looked');
  expect(released).toMatchObject({ code: 0, errors: '' });
  expect(released.out).toContain('1 stay held');
  expect(await heldChains()).toEqual(['TRON_TEST']);

  const again = await opentill('restore', 'release', '--reason', 'looked');
  expect(again.code).not.toBe(0);
  expect(again.errors).toContain('Nothing is released');
  expect((await opentill('restore', 'reconcile')).code).not.toBe(0);
  expect(await heldChains()).toEqual(['TRON_TEST']);
});
