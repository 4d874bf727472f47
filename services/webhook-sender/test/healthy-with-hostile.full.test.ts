import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { DelivererDeps } from '../src/deliver-due.ts';
import { DEFAULT_ENDPOINT_RULES } from '../src/endpoint-health.ts';
import { createAddressGuard } from '../src/forbidden-addresses.ts';
import { queueDeliveries } from '../src/store/queue-deliveries.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';

const s = useDeliveryScenario();
const SAMPLES = 60;
/** The total exceeds the attempts that may start at once. */
const OF_EACH_KIND = 2;

let canary: Server;
let contacted = 0;
let fleet: Worker;
let ports: Record<string, number>;
let healthy: string[];

beforeAll(async () => {
  // Forbidden: not among the allowed addresses. Listens at the target of redirects and second lookups.
  canary = createServer((socket) => {
    contacted += 1;
    socket.destroy();
  });
  canary.listen(0, '127.0.0.2');
  await once(canary, 'listening');
  const redirectTo = `http://127.0.0.2:${(canary.address() as AddressInfo).port}/latest/meta-data`;
  fleet = new Worker(new URL('./hostile-fleet.ts', import.meta.url), { workerData: { redirectTo } });
  [ports] = (await once(fleet, 'message')) as [Record<string, number>];
});
afterAll(async () => {
  await fleet.terminate();
  canary.close();
});

async function unleash(): Promise<void> {
  const canaryPort = (canary.address() as AddressInfo).port;
  const urls = [
    ...Object.values(ports).map((port) => `http://127.0.0.1:${port}/`),
    `http://rebinds.example:${canaryPort}/`,
    `http://mixed.example:${canaryPort}/`,
    `http://127.0.0.2:${canaryPort}/`,
    'http://nowhere.example/',
    'http://127.0.0.1:2/',
  ];
  for (const url of urls) {
    for (let i = 0; i < OF_EACH_KIND; i += 1) {
      const { merchantId } = await s.anOrderWithCallbacks(2, url);
      for (let more = 0; more < 3; more += 1) await s.anOrderWithCallbacks(2, url, merchantId);
    }
  }
}

function changingNames() {
  let asked = 0;
  return async (name: string): Promise<readonly string[]> => {
    asked += 1;
    if (name === 'mixed.example') return ['127.0.0.1', '127.0.0.2'];
    if (name === 'rebinds.example') return asked % 2 === 0 ? ['127.0.0.1'] : ['127.0.0.2'];
    throw new Error('no such name');
  };
}

function startDeliverer(overrides: Partial<DelivererDeps>) {
  return s.deliverer({
    concurrency: 32,
    concurrencyPerEndpoint: 4,
    retryScheduleSeconds: [0.1, 0.5, 1, 5, 30],
    endpointRules: DEFAULT_ENDPOINT_RULES,
    stopGraceMs: 0,
    rules: {
      guard: createAddressGuard(['127.0.0.1']),
      allowHttp: true,
      resolveHost: changingNames(),
    },
    ...overrides,
  });
}

/** Queues callbacks of healthy merchants while hostile receivers are busy. Ends when all have arrived. */
async function deliverHealthy(): Promise<void> {
  await waitUntil('the hostile receivers are busy', async () => (await attempts()) > 20);
  const before = s.receiver.received.length;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const order = await aCollection(s.db, { merchant_id: healthy[sample % healthy.length]! });
    await s.notify(order, 1);
    await queueDeliveries(s.webhook.kysely, [order.order_pk]);
  }
  await waitUntil('all healthy ones arrived', () => s.receiver.received.length - before >= SAMPLES);
}

const timeouts = () => attempts('ANSWER_TIMEOUT');

async function attempts(errorCode?: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from delivery_attempt
    where ${errorCode ?? null}::text is null or error_code = ${errorCode ?? null}`.execute(s.db);
  return rows[0]!.count;
}

describe('healthy merchants next to hostile receivers', () => {
  it('receive callbacks before a hanging attempt ends; no forbidden address is used', async () => {
    healthy = await Promise.all(
      Array.from(
        { length: 6 },
        async () => (await aMerchant(s.db, { callbackUrl: s.receiver.url })).merchantId,
      ),
    );
    await unleash();
    const patient = startDeliverer({ attemptDeadlineMs: 120_000 });
    await deliverHealthy();
    expect(await timeouts()).toBe(0);
    await patient.stop();

    const quick = startDeliverer({ attemptDeadlineMs: 600 });
    for (const code of [
      'ADDRESS_FORBIDDEN',
      'ANSWER_TIMEOUT',
      'BAD_ANSWER',
      'CONNECT_FAILED',
      'CONNECTION_LOST',
      'LOOKUP_FAILED',
      'REDIRECT',
      'SERVER_ERROR',
    ])
      await waitUntil(code, async () => (await attempts(code)) > 0);
    expect(contacted).toBe(0);
    await quick.stop();

    // Control: with few slots that waiting attempts keep, and without the breaker, the same receivers delay all
    // merchants until their attempts time out.
    const never = { ...DEFAULT_ENDPOINT_RULES, openAfterFailures: 1e6, openAfterAttempts: 1e6 };
    await sql`delete from callback_endpoint`.execute(s.db);
    await unleash();
    const before = await timeouts();
    const unguarded = startDeliverer({
      attemptDeadlineMs: 600,
      concurrency: 2,
      slowAfterMs: 3_600_000,
      endpointRules: never,
      retryScheduleSeconds: Array.from({ length: 50 }, () => 0.05),
    });
    await deliverHealthy();
    expect(await timeouts()).toBeGreaterThan(before);
    await unguarded.stop();
  }, 300_000);
});
