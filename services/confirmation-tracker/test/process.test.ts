import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import {
  createTrackerScenario,
  envelope,
  named,
  NETWORKS,
  type TrackerScenario,
} from './tracker-scenario.ts';

const MAIN = join(import.meta.dirname, '..', 'src', 'main.ts');

let s: TrackerScenario;
let rabbit: TestBroker;
let folder: string;
let child: ChildProcess | undefined;
beforeAll(async () => {
  s = await createTrackerScenario();
  rabbit = await createTestBroker();
  folder = await mkdtemp(join(tmpdir(), 'opentill-tracker-'));
  const networks = NETWORKS.map((network) => ({
    ...network,
    tokens: [
      {
        symbol: 'USDT',
        contract: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
        decimals: 6,
        displayDecimals: 2,
        minAmount: null,
        maxAmount: null,
      },
    ],
  }));
  await writeFile(join(folder, 'networks.json'), JSON.stringify({ networks }));
});
afterAll(async () => {
  child?.kill('SIGKILL');
  await rabbit.drop();
  await s.close();
  await rm(folder, { recursive: true });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('starts a process that settles an order and ends in time while a handler waits', async () => {
  const port = await freePort();
  child = spawn(process.execPath, ['--conditions=source', MAIN], {
    env: {
      ...NODE_ENVIRONMENT,
      DATABASE_URL: s.database.url('tracker'),
      AMQP_URL: await rabbit.urlFor('confirmation-tracker'),
      NETWORKS_FILE: join(folder, 'networks.json'),
      HEALTH_PORT: String(port),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  await waitUntil('ready', ready, 180_000);

  await s.chainAt(110, 200);
  const [order, locked] = [await s.order(), await s.order()];
  const [paid, lockedPaid] = [await s.transfer(order, 100n), await s.transfer(locked, 100n)];
  const publish = (transfer: typeof paid) =>
    rabbit.publish('transfer.detected.evm', JSON.stringify(envelope('transfer.detected', named([transfer]))));
  await publish(paid);
  await waitUntil('settled', async () => (await s.state(order)).status === 'PENDING_CONFIRMATION');
  expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toContain(
    'opentill_tracker_orders_moved_total',
  );

  await s.admin.transaction().execute(async (tx) => {
    await sql`set local idle_in_transaction_session_timeout = '120s'`.execute(tx);
    await sql`select from orders where order_pk = ${locked.order_pk} for update`.execute(tx);
    await publish(lockedPaid);
    await waitUntil('a handler waits', async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
          and application_name like 'confirmation-tracker%'`.execute(tx);
      return rows.length > 0;
    });
    const ended = once(child!, 'exit');
    const signalledAt = Date.now();
    child!.kill('SIGTERM');
    // The exit code is not 0 if the process took more than 10 s by its own clock.
    expect(await ended).toEqual([0, null]);
    expect(Date.now() - signalledAt).toBeLessThan(60_000);
  });
  expect(await s.state(locked)).toMatchObject({ status: 'INIT' }); // the transaction was rolled back
});
