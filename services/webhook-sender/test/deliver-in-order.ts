import { expect } from 'vitest';
import { aMerchant } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { useDeliveryScenario } from './delivery-scenario.ts';

/** Three replicas deliver four callbacks per order to a receiver that fails most attempts. */
export async function deliverInOrder(
  s: ReturnType<typeof useDeliveryScenario>,
  orders: number,
): Promise<void> {
  const merchants = await Promise.all([1, 2, 3].map(() => aMerchant(s.db, { callbackUrl: s.receiver.url })));
  const all: { events: string[] }[] = [];
  for (let i = 0; i < orders; i += 1) {
    all.push(await s.anOrderWithCallbacks(4, s.receiver.url, merchants[i % 3]!.merchantId));
  }
  let seed = 7;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const underWay = new Map<unknown, number>();
  let overlaps = 0;
  s.receiver.answer = (callback, response) => {
    const orderId = callback.body.data['orderId'];
    underWay.set(orderId, (underWay.get(orderId) ?? 0) + 1);
    if ((underWay.get(orderId) ?? 0) > 1) overlaps += 1;
    setImmediate(() => {
      underWay.set(orderId, (underWay.get(orderId) ?? 0) - 1);
      response.statusCode = random() < 0.6 ? 500 : 200;
      response.end();
    });
  };
  // The receiver may still process an attempt that timed out.
  const patient = { attemptDeadlineMs: 60_000, pollIntervalMs: 3 };
  for (let i = 0; i < 3; i += 1)
    s.deliverer({ ...patient, retryScheduleSeconds: Array.from({ length: 12 }, () => 0.005) });
  const ids = all.flatMap(({ events }) => events);
  await waitUntil(
    'nothing pending',
    async () =>
      (
        await s.db
          .selectFrom('delivery')
          .select('event_id')
          .where('event_id', 'in', ids)
          .where('state', '=', 'PENDING')
          .execute()
      ).length === 0,
  );
  const highest = new Map<unknown, number>();
  for (const { body } of s.receiver.received) {
    const sequence = body.data['sequence'] as number;
    expect(sequence).toBeGreaterThanOrEqual(highest.get(body.data['orderId']) ?? 0);
    highest.set(body.data['orderId'], sequence);
  }
  expect(overlaps).toBe(0);
  const last = await s.db
    .selectFrom('delivery')
    .select('state')
    .where(
      'event_id',
      'in',
      all.map(({ events }) => events[3]!),
    )
    .execute();
  expect(last.every(({ state }) => state === 'DELIVERED' || state === 'DEAD')).toBe(true);
}
