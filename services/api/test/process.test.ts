import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signText } from '@opentill/contracts/signing/verify-signature';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import { aChainCursor, aMerchant, TEST_SECRETS_KEY_BASE64 } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { exitCodeOf } from '@opentill/runtime/service';
import { writePublicKeys } from '@opentill/wallet/public-keys';
import { composeApi } from '../src/compose.ts';
import {
  anOrderId,
  COLLECTION,
  collectionData,
  TEST_NETWORKS,
  TEST_PUBLIC_KEYS_FILE,
} from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let broker: TestBroker;
let directory: string;
let environment: Record<string, string>;
let port: number;
let healthPort: number;
const started: ChildProcess[] = [];

beforeAll(async () => {
  broker = await createTestBroker();
  await aMerchant(admin.kysely, { merchantId: 'shop', token: 'token-of-shop-0123456789-0123456789' });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  directory = await mkdtemp(join(tmpdir(), 'opentill-api-'));
  await writePublicKeys(join(directory, 'keys.json'), TEST_PUBLIC_KEYS_FILE);
  await writeFile(join(directory, 'networks.json'), JSON.stringify({ networks: TEST_NETWORKS }));
  [port, healthPort] = [await aFreePort(), await aFreePort()];
  environment = {
    ...NODE_ENVIRONMENT,
    PORT: String(port),
    HEALTH_PORT: String(healthPort),
    HOST: '127.0.0.1',
    DATABASE_URL: testDatabase.url('api'),
    AMQP_URL: await broker.urlFor('api'),
    NETWORKS_FILE: join(directory, 'networks.json'),
    PUBLIC_KEYS_FILE: join(directory, 'keys.json'),
    SECRETS_KEY: TEST_SECRETS_KEY_BASE64,
    CHECKOUT_BASE_URL: 'http://localhost:3010/checkout',
    DEPOSIT_ADDRESSES_READY: '64', // the default takes a processor ten seconds
  };
});
afterAll(async () => {
  for (const child of started) if (child.exitCode === null) child.kill('SIGKILL');
  await rm(directory, { recursive: true });
  await broker.drop();
});

async function aFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return free;
}

function start(change: Record<string, string> = {}): { child: ChildProcess; output: () => string } {
  const main = join(import.meta.dirname, '../src/main.ts');
  const child = spawn(process.execPath, ['--conditions=source', main], {
    env: { ...environment, ...change },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  let output = '';
  child.stdout?.on('data', (text: Buffer) => (output += text.toString()));
  child.stderr?.on('data', (text: Buffer) => (output += text.toString()));
  return { child, output: () => output };
}

const health = async (path: string) => fetch(`http://127.0.0.1:${healthPort}${path}`);

describe('api process', () => {
  it('creates an order, publishes its event, serves health and stops cleanly', async () => {
    const { child, output } = start();
    await waitUntil('ready', async () => (await health('/readyz')).status === 200);
    expect((await health('/livez')).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(404);

    const data = collectionData();
    const text = JSON.stringify(data);
    const response = await fetch(`http://127.0.0.1:${port}${COLLECTION}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"sign":"${signText('token-of-shop-0123456789-0123456789', text)}","timestamp":${Math.floor(Date.now() / 1000)},"nonce":"${anOrderId()}","data":${text}}`,
    });
    expect(response.status).toBe(200);
    const order = await admin.kysely
      .selectFrom('orders')
      .select('order_pk')
      .where('order_id', '=', String(data['orderId']))
      .executeTakeFirstOrThrow();
    await waitUntil(
      'the event is published',
      async () => (await broker.depth('webhook-sender.order-created')) > 0,
    );
    const [message] = await broker.take('webhook-sender.order-created');
    expect(JSON.parse(message!.content.toString())).toMatchObject({
      type: 'order.created',
      data: { orderPk: order.order_pk },
    });
    const metrics = await (await health('/metrics')).text();
    expect(metrics).toMatch(/opentill_api_request_duration_seconds_count\{[^}]*code="200"[^}]*\} 1/);
    expect(metrics).toMatch(/opentill_api_orders_created_total\{[^}]*chain="ETH_SEPOLIA"[^}]*\} 1/);

    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(0);
    const lines = output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter((line) => line['level'] === 'error')).toEqual([]);
    expect(output()).not.toContain('token-of-shop-0123456789-0123456789');
    expect(output()).not.toContain(TEST_SECRETS_KEY_BASE64);
  });

  it('exits with 1 when the operator must correct the configuration', async () => {
    const { child } = start({ SECRETS_KEY: '' });
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(1);
  });

  it.each([
    ['an invalid secrets key', { SECRETS_KEY: 'c2hvcnQ=' }],
    ['a missing networks file', { NETWORKS_FILE: '/nowhere.json' }],
  ])('exits with 1 and names the mistake: %s', async (_what, change) => {
    const context = { fail: () => undefined, sharesProcess: true };
    const error: unknown = await composeApi({ ...environment, ...change }, context).catch((e: unknown) => e);
    expect(exitCodeOf(error)).toBe(1);
  });
});
