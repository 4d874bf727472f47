import { expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { createObserver } from '../src/observe.ts';
import { createNotificationSweep } from '../src/sweep-notifications.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';

const s = useDeliveryScenario();
const observer = createObserver(createLogger({ service: 'test', level: 'silent' }), createMetrics('test'));
const running = new AbortController().signal;

function aSweep(pageSize: number) {
  let woken = 0;
  const deps = { db: s.webhook.kysely, observer, wake: () => void (woken += 1) };
  const sweep = createNotificationSweep(deps, { pageSize, graceMs: 2_000, lookBackMs: 600_000 });
  const rounds = async () => {
    let count = 1;
    while ((await sweep(running)) === 'again') count += 1;
    return count;
  };
  return { rounds, woken: () => woken };
}

const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000);
const queued = async (events: readonly string[]) =>
  (await s.db.selectFrom('delivery').select('event_id').where('event_id', 'in', events).execute()).length;

it('goes over all notifications page by page, however old, also those of one moment', async () => {
  const { merchantId } = await aMerchant(s.db, { callbackUrl: s.receiver.url });
  const events: string[] = [];
  for (let i = 0; i < 25; i += 1) {
    const order = await aCollection(s.db, { merchant_id: merchantId });
    events.push(await s.notify(order, 1, i < 15 ? new Date(0) : secondsAgo(60 + i)));
  }
  const sweep = aSweep(10);
  expect(await sweep.rounds()).toBe(3);
  expect(await queued(events)).toBe(25);
  expect(sweep.woken()).toBe(3);
  expect(await sweep.rounds()).toBe(2); // the look-back holds ten of them
  expect(sweep.woken()).toBe(3);
});

it('later goes back only so far, and leaves the youngest to their events', async () => {
  const { merchantId } = await aMerchant(s.db, { callbackUrl: s.receiver.url });
  const anOrder = () => aCollection(s.db, { merchant_id: merchantId });
  const sweep = aSweep(10);
  await sweep.rounds();
  const old = await s.notify(await anOrder(), 1, secondsAgo(3_600));
  const recent = await s.notify(await anOrder(), 1, secondsAgo(60));
  const young = await s.notify(await anOrder(), 1);
  await sweep.rounds();
  expect(await Promise.all([old, recent, young].map((event) => queued([event])))).toEqual([0, 1, 0]);
  await aSweep(10).rounds();
  expect(await queued([old])).toBe(1);
  await sql`update notification set occurred_at = now() - interval '3 seconds' where event_id = ${young}`.execute(
    s.db,
  );
  await sweep.rounds();
  expect(await queued([young])).toBe(1);
});
