import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { GatewayError } from '@opentill/domain/gateway-error';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createAddressGuard } from '../src/forbidden-addresses.ts';
import { createObserve } from '../src/observe.ts';
import { claimDue } from '../src/store/claim-due.ts';
import { finishAttempts } from '../src/store/finish-attempts.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';

const s = useDeliveryScenario();

it.each([
  ['NOT_BUILT', { secretsKey: randomBytes(32) }],
  [
    'RESOLVER_DOWN',
    {
      rules: {
        guard: createAddressGuard(['127.0.0.1']),
        allowHttp: true,
        resolveHost: () =>
          Promise.reject(new GatewayError('RESOLVER_DOWN', 'no name server answers', { retryable: true })),
      },
    },
  ],
])('releases a callback after %s with a pause, a metric and no failure', async (fault, overrides) => {
  const { events, merchantId } = await s.anOrderWithCallbacks(
    2,
    `http://shop.example:${new URL(s.receiver.url).port}/`,
  );
  const metrics = createMetrics('test');
  const startedAt = Date.now();
  const faulty = s.deliverer({
    ...overrides,
    observe: createObserve({ logger: createLogger({ service: 'test', level: 'silent' }), metrics }),
  });
  await waitUntil('released', async () =>
    (await metrics.render()).includes(`opentill_webhook_own_faults_total{fault="${fault}"`),
  );
  await faulty.stop();
  const delivery = await s.deliveryOf(events[0]!);
  expect(delivery).toMatchObject({ state: 'PENDING', attempts: 0, schedule_base: 0, lease_until: null });
  expect(delivery.next_attempt_at.getTime() - startedAt).toBeGreaterThan(20_000);
  expect(await s.attemptsOf(events[0]!)).toEqual([]);
  expect(
    await s.db.selectFrom('callback_endpoint').selectAll().where('merchant_id', '=', merchantId).execute(),
  ).toEqual([]);
  expect(s.receiver.received).toEqual([]);
});

it('does not count lost claims as failures unless the callback seems to crash', async () => {
  const { events } = await s.anOrderWithCallbacks(2);
  const limits = { limit: 8, openLimit: 8, probeLimit: 8, perEndpoint: 8, leaseMs: 60_000 };
  const failures: number[] = [];
  for (let life = 1; life <= 15; life += 1) {
    const claims = await claimDue(s.webhook.kysely, { ...limits, holder: `life ${life}` });
    const claim = claims.find(({ eventId }) => eventId === events[0]);
    if (claim === undefined) break; // overtaken
    expect(claim.wasLost).toBe(life > 1);
    failures.push(claim.attempt - claim.scheduleBase);
    await s.expireLeases();
  }
  expect(failures).toEqual([...Array.from({ length: 11 }, () => 1), 2, 3, 4]);
  expect(await s.stateOf(events[0]!)).toBe('SUPERSEDED');
});

it('does not take attempts from the schedule for a lost claim', async () => {
  const { events } = await s.anOrderWithCallbacks(1);
  const limits = { limit: 8, openLimit: 8, probeLimit: 8, perEndpoint: 8, leaseMs: 60_000 };
  await claimDue(s.webhook.kysely, { ...limits, holder: 'dies' });
  await s.expireLeases();
  const [claim] = await claimDue(s.webhook.kysely, { ...limits, holder: 'lives' });
  expect(claim).toMatchObject({ attempt: 2, scheduleBase: 1 });
  const record = {
    startedAt: new Date(),
    durationMs: 1,
    statusCode: 500,
    errorCode: 'SERVER_ERROR',
    error: null,
    excerpt: null,
  } as const;
  await finishAttempts(s.webhook.kysely, 'lives', [
    { claim: claim!, record, outcome: { state: 'PENDING', retryDelayMs: 0 } },
  ]);
  expect(await s.deliveryOf(events[0]!)).toMatchObject({ attempts: 2, schedule_base: 1 });
  expect(await s.attemptsOf(events[0]!)).toMatchObject([{ attempt: 2 }]);
});
