import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Database } from '@opentill/db/database';
import { carryOutDecisions } from '../src/carry-out-decisions.ts';
import { sweepDecisions } from '../src/sweep-decisions.ts';
import { payoutsOn, type Payouts } from './payout-scenario.ts';
import { createTrackerScenario, envelope, handle, TTL, type TrackerScenario } from './tracker-scenario.ts';

/* Operators accept or refuse collections (api.md section 5). */

let s: TrackerScenario;
let p: Payouts;
let otherDatabase: Database;
beforeAll(async () => {
  s = await createTrackerScenario();
  p = payoutsOn(s);
  otherDatabase = s.database.open('tracker');
});
afterAll(async () => {
  await p.checkBooks();
  await otherDatabase.close();
  await s.close();
});

const decided = (order: { order_pk: string }) =>
  handle(envelope('order.decided', { orderPk: order.order_pk }), s.deps);

/** An order that expired with 40 in time and 60 late, verified all of it. */
async function expired() {
  const merchant = await s.merchant();
  const order = await s.order({
    merchant_id: merchant.merchantId,
    symbol: `X${merchant.merchantId.slice(2, 10)}`,
  });
  await s.chainAt(110, 200);
  const little = await s.transfer(order, 40n);
  const late = await s.transfer(order, 60n, { atSecond: TTL + 10, block_height: 105 });
  await s.chainAt(140, TTL + 60);
  await s.verified(await s.verify(little), await s.verify(late));
  expect(await s.state(order)).toMatchObject({ status: 'EXPIRED', actual: 100n });
  const told = (await s.told(order)).length;
  return {
    order,
    little,
    late,
    since: async () => (await s.story(order)).slice(told),
    balances: () => s.balances(merchant.merchantId, order.chain, order.symbol),
  };
}

test('an expired order is accepted with what came, which is credited', async () => {
  const { order, little, late, since, balances } = await expired();
  expect(await balances()).toMatchObject({ SUSPENSE: -100n });
  expect(await s.unmatched(late)).toBe('LATE');
  const id = await p.decide(order, 'ACCEPT');
  await decided(order);
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', reason: null, actual: 100n });
  expect(await since()).toEqual(['ORDER_SUCCESS SUCCESS 0.0001']);
  expect((await s.told(order)).at(-1)?.data.transaction).toMatchObject({ txid: late.tx_hash });
  expect(await p.outcomeOf(id)).toBe('DONE');
  expect(await balances()).toEqual({ DEPOSIT: 100n, SUSPENSE: 0n, MERCHANT: -100n });
  expect([await s.unmatched(little), await s.unmatched(late)]).toEqual([
    'UNDERPAID withdrawn',
    'LATE withdrawn',
  ]);
  expect(await s.settlement(late)).toMatchObject({ credited: true });
  await decided(order);
  expect(await since()).toHaveLength(1);
});

test('what was accepted and is taken back by a reorganisation is an incident, as with any credit', async () => {
  const { order, late } = await expired();
  await p.decide(order, 'ACCEPT');
  await decided(order);
  await s.orphaned(await s.orphan(late));
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  expect(await s.incidents(order)).toMatchObject([{ kind: 'CREDITED_TRANSFER_ORPHANED' }]);
});

test('an order is refused in the operator’s words; its money stays unmatched', async () => {
  const merchant = await s.merchant();
  const order = await s.order({ merchant_id: merchant.merchantId, symbol: 'REF' });
  await s.chainAt(110, 200);
  const paid = await s.transfer(order, 100n);
  await s.detected(paid);
  const id = await p.decide(order, 'REFUSE', 'Sanctioned sender (list of 11/2026)');
  await decided(order);
  expect(await s.state(order)).toMatchObject({
    status: 'FAILED',
    reason: 'Sanctioned sender (list of 11-2026)',
    detected: 100n,
  });
  expect((await s.story(order)).at(-1)).toBe('ORDER_FAILED FAILED Sanctioned sender (list of 11-2026)');
  expect(await p.outcomeOf(id)).toBe('DONE');
  await s.verified(await s.verify(paid));
  expect(await s.state(order)).toMatchObject({ status: 'FAILED' });
  expect(await s.unmatched(paid)).toBe('ORDER_FAILED');
  expect(await s.balances(merchant.merchantId, order.chain, 'REF')).toEqual({
    DEPOSIT: 100n,
    SUSPENSE: -100n,
  });
});

test('an empty reason is told as one', async () => {
  const order = await s.order();
  await p.decide(order, 'REFUSE', ' ');
  await decided(order);
  expect(await s.state(order)).toMatchObject({ status: 'FAILED', reason: 'Refused by operator' });
});

test('what the state does not allow is closed as such and changes nothing', async () => {
  const open = await s.order({ chain: 'BSC_TEST' }); // where no time has passed
  const payout = await p.payout();
  const { order: accepted } = await expired();
  const ids = [
    await p.decide(open, 'ACCEPT'),
    await p.decide(payout, 'REFUSE'),
    await p.decide(accepted, 'ACCEPT'),
  ];
  await sweepDecisions(s.deps);
  for (const decision of ['REFUSE', 'ACCEPT'] as const) {
    ids.push(await p.decide(accepted, decision)); // at most one of an order is open at a time
    await sweepDecisions(s.deps);
  }
  expect(await Promise.all(ids.map((id) => p.outcomeOf(id)))).toEqual([
    'NOT_POSSIBLE',
    'NOT_POSSIBLE',
    'DONE',
    'NOT_POSSIBLE',
    'NOT_POSSIBLE',
  ]);
  expect(await s.state(open)).toMatchObject({ status: 'INIT' });
  expect(await s.state(payout)).toMatchObject({ status: 'INIT' });
  expect(await s.state(accepted)).toMatchObject({ status: 'SUCCESS' });
});

test('a decision comes after what the facts ask for by themselves', async () => {
  const order = await s.order();
  await s.chainAt(110, 200);
  const paid = await s.verify(await s.transfer(order, 100n, { block_height: 100 }));
  const id = await p.decide(order, 'REFUSE');
  await decided(order); // nobody had settled the payment yet: it is paid
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  expect(await s.settlement(paid)).toMatchObject({ credited: true });
  expect(await p.outcomeOf(id)).toBe('NOT_POSSIBLE');
});

test('two replicas carry a decision out once', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { order, since } = await expired();
    await p.decide(order, 'ACCEPT');
    const closed = await Promise.all(
      [s.deps, s.depsOn(otherDatabase.kysely)].map((deps) => carryOutDecisions(deps, [order.order_pk])),
    );
    await sweepDecisions(s.deps);
    expect(closed.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(1);
    expect(await since()).toEqual(['ORDER_SUCCESS SUCCESS 0.0001']);
  }
});
