import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout } from 'node:timers/promises';
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
/** Merchants per hostile kind; their total exceeds the attempts that may start at once. */
const OF_EACH_KIND = 2;
const DEADLINE_MS = 600;
/** The promise is twice the quiet value. This allows for timers and other load in addition to a few ms. */
const NOISE_MS = 50;

let canary: Server;
let contacted = 0;
let fleet: Worker;
let ports: Record<string, number>;
let healthy: string[];

beforeAll(async () => {
  // Forbidden, since it is not among the allowed addresses. It listens at the target of redirects and second lookups.
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

/** Creates merchants of every hostile kind with due and waiting callbacks. */
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

/** Names whose addresses change with every lookup. */
function changingNames() {
  let asked = 0;
  return async (name: string): Promise<readonly string[]> => {
    asked += 1;
    if (name === 'mixed.example') return ['127.0.0.1', '127.0.0.2'];
    if (name === 'rebinds.example') return asked % 2 === 0 ? ['127.0.0.1'] : ['127.0.0.2'];
    throw new Error('no such name');
  };
}

/**
 * Measures the 99th percentile in ms of the time from queueing to arrival at healthy merchants. Infinite when some
 * callbacks did not arrive in time.
 */
async function measureHealthy(): Promise<number> {
  const queuedAt = new Map<string, number>();
  const before = s.receiver.received.length;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const order = await aCollection(s.db, { merchant_id: healthy[sample % healthy.length]! });
    const eventId = await s.notify(order, 1);
    queuedAt.set(eventId, Date.now());
    await queueDeliveries(s.webhook.kysely, [order.order_pk]);
  }
  const allCame = () => s.receiver.received.length - before >= SAMPLES;
  for (const endsAt = Date.now() + 5_000; !allCame(); await setTimeout(5)) {
    if (Date.now() > endsAt) return Number.POSITIVE_INFINITY;
  }
  const latencies = s.receiver.received
    .slice(before)
    .map(({ body, at }) => at - queuedAt.get(body.nonce)!)
    .sort((a, b) => a - b);
  return latencies[Math.ceil(SAMPLES * 0.99) - 1]!;
}

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;

async function measure(
  overrides: Partial<DelivererDeps>,
  { unquiet, rounds }: { unquiet: boolean; rounds: number },
): Promise<number> {
  const deliverer = s.deliverer({
    concurrency: 32,
    concurrencyPerEndpoint: 4,
    attemptDeadlineMs: DEADLINE_MS,
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
  if (unquiet) await waitUntil('the hostile receivers are busy', async () => (await attempts()) > 20);
  const p99s: number[] = [];
  for (let round = 0; round < rounds; round += 1) p99s.push(await measureHealthy());
  await deliverer.stop();
  return median(p99s);
}

async function attempts(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from delivery_attempt`.execute(
    s.db,
  );
  return rows[0]!.count;
}

describe('healthy merchants next to hostile receivers', () => {
  it('stay under twice the quiet 99th percentile, and no forbidden address is used', async () => {
    healthy = await Promise.all(
      Array.from(
        { length: 6 },
        async () => (await aMerchant(s.db, { callbackUrl: s.receiver.url })).merchantId,
      ),
    );
    await measure({}, { unquiet: false, rounds: 1 }); // warm
    const quiet = await measure({}, { unquiet: false, rounds: 3 });
    await unleash();
    const unquiet = await measure({}, { unquiet: true, rounds: 3 });
    expect(unquiet).toBeLessThan(Math.max(2 * quiet, quiet + NOISE_MS));
    expect(unquiet).toBeLessThan(DEADLINE_MS / 2);
    expect(contacted).toBe(0);
    const { rows } = await sql<{ code: string }>`
      select distinct error_code as code from delivery_attempt where error_code is not null order by 1`.execute(
      s.db,
    );
    expect(rows.map((row) => row.code)).toEqual(
      expect.arrayContaining([
        'ADDRESS_FORBIDDEN',
        'ANSWER_TIMEOUT',
        'BAD_ANSWER',
        'CONNECT_FAILED',
        'CONNECTION_LOST',
        'LOOKUP_FAILED',
        'REDIRECT',
        'SERVER_ERROR',
      ]),
    );

    // Control: with few slots that waiting attempts keep, and without the breaker, the same receivers delay all
    // merchants.
    const never = { ...DEFAULT_ENDPOINT_RULES, openAfterFailures: 1e6, openAfterAttempts: 1e6 };
    await sql`delete from callback_endpoint`.execute(s.db);
    await unleash();
    const retryScheduleSeconds = Array.from({ length: 50 }, () => 0.05);
    const unguarded = await measure(
      { concurrency: 2, slowAfterMs: 3_600_000, endpointRules: never, retryScheduleSeconds },
      { unquiet: true, rounds: 1 },
    );
    expect(unguarded).toBeGreaterThan(Math.max(2 * quiet, quiet + NOISE_MS));
  }, 120_000);
});
