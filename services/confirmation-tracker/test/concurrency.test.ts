import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '@opentill/db/database';
import {
  createTrackerScenario,
  envelope,
  handle,
  named,
  verifiedEvent,
  type TrackerScenario,
} from './tracker-scenario.ts';
import { describeTwoReplicas } from './two-replicas.ts';

let s: TrackerScenario;
let otherDatabase: Database;
beforeAll(async () => {
  s = await createTrackerScenario();
  otherDatabase = s.database.open('tracker');
});
afterAll(async () => {
  await otherDatabase.close();
  await s.close();
});

describeTwoReplicas(() => ({ s, otherDatabase }), [3]); // more seeds are in concurrency.full.test.ts

test('settles an order once under twenty concurrent deliveries of its events', async () => {
  const merchant = await s.merchant();
  const order = await s.order({ merchant_id: merchant.merchantId });
  await s.chainAt(200, 300);
  const transfers = await Promise.all(
    Array.from({ length: 5 }, async () => s.verify(await s.transfer(order, 20n))),
  );
  const replicas = [s.deps, s.depsOn(otherDatabase.kysely)];
  const same = verifiedEvent(transfers);
  const events = [
    ...Array.from({ length: 10 }, () => same),
    ...transfers.flatMap((t) => [envelope('transfer.detected', named([t])), verifiedEvent([t])]),
  ];
  await Promise.all(events.map((event, i) => handle(event, replicas[i % 2] ?? s.deps)));
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  expect(await s.story(order)).toEqual([
    'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION 0.0001',
    'ORDER_SUCCESS SUCCESS 0.0001',
  ]);
  expect((await s.balances(merchant.merchantId))['MERCHANT']).toBe(-100n);
});

test('avoids deadlocks when events name the same orders in opposite orders', async () => {
  await s.chainAt(200, 300);
  const merchant = await s.merchant();
  const orders = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      s.order({ merchant_id: merchant.merchantId, symbol: i % 2 ? 'AAA' : 'ZZZ' }),
    ),
  );
  const transfers = await Promise.all(orders.map(async (order) => s.verify(await s.transfer(order, 100n))));
  const replicas = [s.deps, s.depsOn(otherDatabase.kysely)];
  await Promise.all(
    Array.from({ length: 16 }, (_, i) => {
      const named = i % 2 === 0 ? transfers : transfers.toReversed();
      return handle(verifiedEvent(named.slice(i % 5)), replicas[i % 2] ?? s.deps);
    }),
  );
  for (const order of orders) expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
});
