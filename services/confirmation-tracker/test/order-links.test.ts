import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { createTrackerScenario, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
beforeAll(async () => {
  s = await createTrackerScenario();
  await s.chainAt(110, 200);
});
afterAll(() => s.close());

test('callbacks of an order that a payment link opened name the link', async () => {
  const { merchant_id } = await s.order();
  await sql`
    insert into payment_link (merchant_id, link_id, link_code, chain, symbol, amount)
    values (${merchant_id}, 'coffee', 'AAAAAAAAAAAAAAAAAAAAAA', 'ETH_SEPOLIA', 'USDT', '0.0001')`.execute(
    s.admin,
  );
  const asked = await s.order({ merchant_id, link_id: 'coffee' });
  const paid = await s.transfer(asked, 100n);
  await s.detected(paid);
  await s.verified(await s.verify(paid));
  const callbacks = (await s.callbacks(asked)).filter(({ type }) => type !== 'ORDER_PENDING');
  expect(callbacks.map(({ type }) => type)).toEqual(['ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS']);
  for (const { data } of callbacks) expect(data).toMatchObject({ linkId: 'coffee' });
});
