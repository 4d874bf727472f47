/*
 * How many callbacks a second leave, to receivers that answer at once and with some that hang: real Postgres, real HTTP on
 * this machine, the deliverer in this process. It prints one line of JSON for each case.
 *
 *   node --conditions=source services/webhook-sender/test/measure-delivery.ts [callbacks] [merchants]
 *
 * OPENTILL_TEST_DATABASE_URL names the server; a database of its own is made and dropped.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql, type PostgresPool } from 'kysely';
import { openDatabase, type Db } from '@opentill/db/database';
import { systemClock } from '@opentill/runtime/clock';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { aMerchant, TEST_SECRETS_KEY } from '@opentill/testkit/scenario';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startDeliverer } from '../src/deliver-due.ts';
import { createAddressGuard } from '../src/forbidden-addresses.ts';
import { createObserve } from '../src/observe.ts';

const [callbacks = 1_000, merchants = 20] = process.argv.slice(2).map(Number);
const HANGING_SHARE = 0.1;

interface Fleet {
  readonly server: Server;
  readonly url: string;
  /** When each callback to a healthy merchant came, in ms of performance.now(). */
  readonly arrivals: number[];
}

async function startReceivers(): Promise<Fleet> {
  const arrivals: number[] = [];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.url === '/hang') return;
      arrivals.push(performance.now());
      response.end('ok');
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals };
}

/** Queues `count` callbacks, of an order each, that became due at this moment. */
async function queue(db: Db, merchantIds: readonly string[], count: number): Promise<void> {
  await sql`
    with told as (
      insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
      select gen_random_uuid(), (${[...merchantIds]}::text[])[1 + n % ${merchantIds.length}::int], gen_random_uuid(), 1,
        'ORDER_SUCCESS', '{"actualAmount":"250.00","amount":"250.00","orderId":"order-' || n || '","status":"SUCCESS"}', now()
      from generate_series(1, ${count}::int) n
      returning event_id, merchant_id, subject_id, sequence
    )
    insert into delivery (event_id, merchant_id, subject_id, sequence, next_attempt_at)
    select event_id, merchant_id, subject_id, sequence, now() from told`.execute(db);
  await sql`analyze`.execute(db);
}

function countStatements(count: () => void) {
  return (pool: PostgresPool): PostgresPool => ({
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      const query = (text: string, values: readonly unknown[]) => {
        count();
        return client.query(text, [...values]);
      };
      return { query: query as unknown as typeof client.query, release: () => client.release() };
    },
  });
}

async function measure(name: string, merchantCount: number, hangingShare: number): Promise<void> {
  let statements = 0;
  const database = await createTestDatabase();
  const admin = database.open('admin');
  const fleet = await startReceivers();
  const own = openDatabase({
    url: database.url('webhook'),
    applicationName: 'measure',
    poolMax: 8,
    prepareStatements: true,
    wrapPool: countStatements(() => (statements += 1)),
  });
  const healthy: string[] = [];
  const hanging: string[] = [];
  for (let i = 0; i < merchantCount; i += 1) {
    const hangs = i < Math.round(merchantCount * hangingShare);
    const merchant = await aMerchant(admin.kysely, { callbackUrl: `${fleet.url}/${hangs ? 'hang' : 'ok'}` });
    (hangs ? hanging : healthy).push(merchant.merchantId);
  }
  const toHanging = Math.round(callbacks * hangingShare);
  if (toHanging > 0) await queue(admin.kysely, hanging, toHanging);
  await queue(admin.kysely, healthy, callbacks - toHanging);
  const deliverer = startDeliverer({
    db: own.kysely,
    clock: systemClock,
    random: Math.random,
    observe: createObserve({
      logger: createLogger({ service: 'measure', level: 'silent' }),
      metrics: createMetrics('measure'),
    }),
    secretsKey: TEST_SECRETS_KEY,
    instance: randomUUID(),
    rules: {
      guard: createAddressGuard(['127.0.0.1']),
      allowHttp: true,
      resolveHost: async () => ['127.0.0.1'],
    },
    retryScheduleSeconds: [1, 5, 30, 300, 1800, 7200, 21600, 43200, 86400],
    attemptDeadlineMs: 10_000,
    concurrency: 64,
    concurrencyPerEndpoint: 32,
    pollIntervalMs: 250,
    stopGraceMs: 0,
  });
  const begunAt = performance.now();
  const cpu = process.cpuUsage();
  await waitUntil(
    'every healthy merchant has its callbacks',
    () => fleet.arrivals.length >= callbacks - toHanging,
    120_000,
  );
  const seconds = (fleet.arrivals.at(-1)! - begunAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  await deliverer.stop();
  process.stdout.write(
    `${JSON.stringify({
      name,
      merchants: merchantCount,
      callbacks: callbacks - toHanging,
      toHanging,
      seconds: Number(seconds.toFixed(3)),
      perSecond: Math.round((callbacks - toHanging) / seconds),
      statements,
      cpuSeconds: Number(((user + system) / 1e6).toFixed(2)),
    })}\n`,
  );
  fleet.server.closeAllConnections();
  fleet.server.close();
  await own.close();
  await admin.close();
  await database.drop();
}

await measure('warming up', 1, 0);
await measure('one merchant', 1, 0);
await measure('fast receivers', merchants, 0);
await measure('10 % of the receivers hang', merchants, HANGING_SHARE);
