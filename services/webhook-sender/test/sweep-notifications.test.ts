import { expect, it } from 'vitest';
import { sql } from 'kysely';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { createObserve } from '../src/observe.ts';
import { createNotificationSweep, type NotificationSweepOptions } from '../src/sweep-notifications.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';

const s = useDeliveryScenario();
const observe = createObserve({
  logger: createLogger({ service: 'test', level: 'silent' }),
  metrics: createMetrics('test'),
});
const running = new AbortController().signal;

function aSweep(
  pageSize: number,
  from: NotificationSweepOptions['from'] = 'beginning',
  lookBackMs = 600_000,
) {
  let woken = 0;
  const deps = { db: s.webhook.kysely, observe, wake: () => void (woken += 1) };
  const sweep = createNotificationSweep(deps, { pageSize, graceMs: 2_000, lookBackMs, from });
  const rounds = async () => {
    let count = 1;
    while ((await sweep(running)) === 'again') count += 1;
    return count;
  };
  return { rounds, woken: () => woken };
}

const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000);
/** `createdAt` is by the database's clock, `occurredAt` by the writer's. */
async function notifyAt(createdAt: Date, occurredAt = createdAt): Promise<string> {
  const { merchantId } = await aMerchant(s.db, { callbackUrl: s.receiver.url });
  const eventId = await s.notify(await aCollection(s.db, { merchant_id: merchantId }), 1, occurredAt);
  await s.db
    .updateTable('notification')
    .set({ created_at: createdAt })
    .where('event_id', '=', eventId)
    .execute();
  return eventId;
}
const queued = async (events: readonly string[]) =>
  (await s.db.selectFrom('delivery').select('event_id').where('event_id', 'in', events).execute()).length;

it('pages through all notifications, also old and simultaneous ones', async () => {
  const events: string[] = [];
  for (let i = 0; i < 25; i += 1) events.push(await notifyAt(i < 15 ? new Date(0) : secondsAgo(60 + i)));
  const sweep = aSweep(10);
  expect(await sweep.rounds()).toBe(3);
  expect(await queued(events)).toBe(25);
  expect(sweep.woken()).toBe(3);
  expect(await sweep.rounds()).toBe(2); // the overlap contains ten of them
  expect(sweep.woken()).toBe(3);
});

it('reads only the overlap in later sweeps, and skips young notifications', async () => {
  const sweep = aSweep(10);
  await sweep.rounds();
  const old = await notifyAt(secondsAgo(3_600));
  const recent = await notifyAt(secondsAgo(60));
  const young = await notifyAt(secondsAgo(-600)); // in the future, since a slow machine may look late
  await sweep.rounds();
  expect(await Promise.all([old, recent, young].map((event) => queued([event])))).toEqual([0, 1, 0]);
  await aSweep(10).rounds();
  expect(await queued([old])).toBe(1);
  await sql`update notification set created_at = now() - interval '3 seconds' where event_id = ${young}`.execute(
    s.db,
  );
  await sweep.rounds();
  expect(await queued([young])).toBe(1);
});

it("sweeps by the database's clock, not the writer's", async () => {
  const sweep = aSweep(10);
  await sweep.rounds();
  const slow = await notifyAt(secondsAgo(5), secondsAgo(86_400));
  const fast = await notifyAt(secondsAgo(5), secondsAgo(-86_400));
  await sweep.rounds();
  expect(await queued([slow, fast])).toBe(2);
});

it('starts the quick sweep now and reads only the last seconds', async () => {
  const sweep = aSweep(10, 'now', 300_000);
  const before = await notifyAt(secondsAgo(10));
  expect(await sweep.rounds()).toBe(1);
  expect(await queued([before])).toBe(0);
  const earlier = await notifyAt(secondsAgo(3_600));
  await sweep.rounds();
  expect(await Promise.all([before, earlier].map((event) => queued([event])))).toEqual([1, 0]);
});
