import { expect, it } from 'vitest';
import { sql } from 'kysely';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { deleteEndedCallbacks } from '../src/housekeeping.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';

const s = useDeliveryScenario();
const DAY_SECONDS = 86_400;

/** Has two ended callbacks: the first may be deleted, the last may not. */
async function anEndedOrder(daysAgo: number): Promise<string> {
  const { merchantId } = await aMerchant(s.db, { callbackUrl: s.receiver.url });
  const order = await aCollection(s.db, { merchant_id: merchantId });
  const events = [await s.notify(order, 1), await s.notify(order, 2)];
  await sql`update notification set created_at = now() - ${daysAgo} * interval '1 day', occurred_at = now() - ${daysAgo} * interval '1 day'
    where event_id = any(${events})`.execute(s.db);
  await sql`insert into delivery (event_id, merchant_id, subject_id, sequence, state, next_attempt_at, finished_at)
    select event_id, merchant_id, subject_id, sequence, 'DELIVERED', now(), now() - ${daysAgo} * interval '1 day'
    from notification where event_id = any(${events})`.execute(s.db);
  return events[0]!;
}
const isKept = async (event: string) =>
  (await s.db.selectFrom('notification').select('event_id').where('event_id', '=', event).execute())
    .length === 1;

it('continues where it ended, restarts daily and runs in only one replica', async () => {
  const first = await anEndedOrder(100);
  const a = deleteEndedCallbacks(s.webhook.kysely, 'a', 90 * DAY_SECONDS);
  const b = deleteEndedCallbacks(s.webhook.kysely, 'b', 90 * DAY_SECONDS);
  expect(await a()).toBeUndefined();
  expect(await isKept(first)).toBe(false);

  const passed = await anEndedOrder(120); // older than the current position
  const next = await anEndedOrder(95);
  await b(); // does not hold the lease
  expect(await isKept(passed)).toBe(true);
  await a();
  expect([await isKept(passed), await isKept(next)]).toEqual([true, false]);

  await sql`update webhook.lease set expires_at = now() where name = 'housekeeping/callbacks'`.execute(s.db);
  await b(); // takes over and starts at the oldest
  expect(await isKept(passed)).toBe(false);

  const old = await anEndedOrder(130);
  await b();
  expect(await isKept(old)).toBe(true);
  await sql`update webhook.lease set expires_at = now() where name = 'housekeeping/callbacks'`.execute(s.db);
  const daily = deleteEndedCallbacks(s.webhook.kysely, 'c', 90 * DAY_SECONDS, 0);
  await daily();
  const older = await anEndedOrder(140);
  await daily(); // a new round each time
  expect([await isKept(old), await isKept(older)]).toEqual([false, false]);
});
