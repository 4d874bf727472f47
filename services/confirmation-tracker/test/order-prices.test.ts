import { afterAll, beforeAll, expect, test } from 'vitest';
import { aRate } from '@opentill/testkit/scenario';
import { createTrackerScenario, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
beforeAll(async () => {
  s = await createTrackerScenario();
  await s.chainAt(110, 200);
});
afterAll(() => s.close());

test('callbacks of an order with a price carry its price and its own rate', async () => {
  const rate = '0.920500000000';
  const rate_id = await aRate(s.admin, { rate });
  const asked = await s.order({ currency: 'EUR', price: '49.90', rate, rate_id, markup_bps: 0 });
  await aRate(s.admin, { rate: '0.500000000000' });
  const paid = await s.transfer(asked, 100n);
  await s.detected(paid);
  await s.verified(await s.verify(paid));
  const callbacks = (await s.callbacks(asked)).filter(({ type }) => type !== 'ORDER_PENDING');
  expect(callbacks.map(({ type }) => type)).toEqual(['ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS']);
  for (const { data } of callbacks)
    expect(data).toMatchObject({ amount: '0.0001', currency: 'EUR', price: '49.90', rate: '0.9205' });
});
