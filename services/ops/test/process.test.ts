import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addOperator } from '@opentill/db/operators';
import { newId } from '@opentill/runtime/ids';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import { aCollection, aMerchant, TEST_SECRETS_KEY_BASE64 } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { TEST_NETWORKS } from './support/test-ops.ts';

const { testDatabase, admin } = await openTestDatabase();
let broker: TestBroker;
let directory: string;
let child: ChildProcess | undefined;

beforeAll(async () => {
  broker = await createTestBroker();
  directory = await mkdtemp(join(tmpdir(), 'opentill-ops-'));
  await writeFile(join(directory, 'networks.json'), JSON.stringify({ networks: TEST_NETWORKS }));
});
afterAll(async () => {
  if (child?.exitCode === null) child.kill('SIGKILL');
  await rm(directory, { recursive: true });
  await broker.drop();
});

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

it('serves operators, publishes decisions as its own broker user and stops cleanly', async () => {
  const [port, healthPort] = [await findFreePort(), await findFreePort()];
  let output = '';
  child = spawn(process.execPath, ['--conditions=source', join(import.meta.dirname, '../src/main.ts')], {
    env: {
      ...NODE_ENVIRONMENT,
      OPS_PORT: String(port),
      HEALTH_PORT: String(healthPort),
      DATABASE_URL: testDatabase.url('ops'),
      AMQP_URL: await broker.urlFor('ops'),
      NETWORKS_FILE: join(directory, 'networks.json'),
      SECRETS_KEY: TEST_SECRETS_KEY_BASE64,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text: Buffer) => (output += text.toString()));
  const health = async (path: string) => fetch(`http://127.0.0.1:${healthPort}${path}`);
  await waitUntil('ready', async () => (await health('/readyz')).status === 200);

  await aMerchant(admin.kysely, { merchantId: 'shop' });
  const order = await aCollection(admin.kysely, { order_pk: newId(), merchant_id: 'shop' });
  const token = await addOperator(admin.kysely, { operatorId: 'ada', name: 'Ada', role: 'ADMIN' });
  const answer = await fetch(`http://127.0.0.1:${port}/v1/orders/${order.order_pk}/decision`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ decision: 'REFUSE', reason: 'test' }),
  });
  expect(answer.status).toBe(200);
  const queue = 'confirmation-tracker.order-decided';
  await waitUntil('the decision is published', async () => (await broker.depth(queue)) > 0);
  const [message] = await broker.take(queue);
  expect(JSON.parse(message!.content.toString())).toMatchObject({ data: { orderPk: order.order_pk } });
  const metrics = await (await health('/metrics')).text();
  expect(metrics).toMatch(/opentill_ops_acts_total\{[^}]*operation="decideOrder"[^}]*\} 1/);

  child.kill('SIGTERM');
  expect((await once(child, 'exit'))[0]).toBe(0);
  expect(output.split('\n').filter((line) => line.includes('"level":"error"'))).toEqual([]);
  expect(output).not.toContain(token);
  expect(output).not.toContain(TEST_SECRETS_KEY_BASE64);
});
