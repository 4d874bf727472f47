import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '@opentill/db/database';
import { carryOutDecisions } from '../src/carry-out-decisions.ts';
import { sweepDecisions } from '../src/sweep-decisions.ts';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { baseUnits } from '@opentill/domain/money';
import type { OrderRow, TransferRow } from '@opentill/testkit/scenario';
import { payoutsOn, type Payouts } from './payout-scenario.ts';
import {
  CHAIN,
  createTrackerScenario,
  envelope,
  handle,
  OTHER_TOKEN,
  TTL,
  type TrackerScenario,
} from './tracker-scenario.ts';

// Operators accept or refuse collections (docs/api.md section 5), also with money that the order did not ask for.

const HOT = '0x00000000000000000000000000000000000000aa';
const ONE_OTHER = 10n ** 18n;

let s: TrackerScenario;
let p: Payouts;
let otherDatabase: Database;
beforeAll(async () => {
  s = await createTrackerScenario();
  p = payoutsOn(s);
  await sql`insert into chain_family (chain, family) values (${CHAIN}, 'EVM') on conflict do nothing`.execute(
    s.admin,
  );
  await sql`insert into hot_wallet (family, address) values ('EVM', ${HOT}) on conflict do nothing`.execute(
    s.admin,
  );
  otherDatabase = s.database.open('tracker');
});
afterAll(async () => {
  await p.checkBooks();
  await otherDatabase.close();
  await s.close();
});

const decided = (order: { order_pk: string }) =>
  handle(envelope('order.decided', { orderPk: order.order_pk }), s.deps);

/** EXPIRED with 40 in time and 60 late, all verified. */
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
  const callbacks = (await s.callbacks(order)).length;
  return {
    order,
    little,
    late,
    since: async () => (await s.story(order)).slice(callbacks),
    balances: () => s.balances(merchant.merchantId, order.chain, order.symbol),
  };
}

test('accepts an expired order with the received amount and credits it', async () => {
  const { order, little, late, since, balances } = await expired();
  expect(await balances()).toMatchObject({ SUSPENSE: -100n });
  expect(await s.unmatched(late)).toBe('LATE');
  const id = await p.decide(order, 'ACCEPT');
  await decided(order);
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', reason: null, actual: 100n });
  expect(await since()).toEqual(['ORDER_SUCCESS SUCCESS 0.0001']);
  expect((await s.callbacks(order)).at(-1)?.data.transaction).toMatchObject({ txid: late.tx_hash });
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

test('opens an incident when a reorganisation orphans an accepted payment', async () => {
  const { order, late } = await expired();
  await p.decide(order, 'ACCEPT');
  await decided(order);
  await s.orphaned(await s.orphan(late));
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  expect(await s.incidents(order)).toMatchObject([{ kind: 'CREDITED_TRANSFER_ORPHANED' }]);
});

test("refuses an order with the operator's reason and leaves its money unmatched", async () => {
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

test('replaces an empty reason by the default', async () => {
  const order = await s.order();
  await p.decide(order, 'REFUSE', ' ');
  await decided(order);
  expect(await s.state(order)).toMatchObject({ status: 'FAILED', reason: 'Refused by operator' });
});

test('closes an impossible decision as NOT_POSSIBLE without changes', async () => {
  const open = await s.order({ chain: 'BSC_TEST' }); // no time has passed on this chain
  const payout = await p.payout();
  const { order: accepted } = await expired();
  const ids = [
    await p.decide(open, 'ACCEPT'),
    await p.decide(payout, 'REFUSE'),
    await p.decide(accepted, 'ACCEPT'),
  ];
  await sweepDecisions(s.deps);
  for (const decision of ['REFUSE', 'ACCEPT'] as const) {
    ids.push(await p.decide(accepted, decision)); // at most one decision of an order is open at a time
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

test('settles the facts before it carries out a decision', async () => {
  const order = await s.order();
  await s.chainAt(110, 200);
  const paid = await s.verify(await s.transfer(order, 100n, { block_height: 100 }));
  const id = await p.decide(order, 'REFUSE');
  await decided(order); // the payment was not settled yet; now it is
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  expect(await s.settlement(paid)).toMatchObject({ credited: true });
  expect(await p.outcomeOf(id)).toBe('NOT_POSSIBLE');
});

test('carries out a decision once with two replicas', async () => {
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

/** As ops does. */
async function refundDeposit(transfer: TransferRow, amount: bigint): Promise<string> {
  const { chain, symbol } = transfer;
  await sql`select book_top_up(${`${chain}:0x${randomUUID()}:${symbol}`}, ${chain}, ${symbol}, ${amount})`.execute(
    s.admin,
  );
  const orderPk = randomUUID();
  const refund = {
    orderPk,
    transferId: transfer.transfer_id,
    chain,
    symbol,
    contract: transfer.contract_address,
    decimals: 6,
    displayDecimals: 2,
    amount: amount.toString(),
    wallet: HOT,
    receiver: '0x00000000000000000000000000000000000000bb',
    seconds: 3_600,
    plannedBy: 'anna',
  };
  const { rows } = await sql<{
    began: boolean;
  }>`select refund_deposit(${JSON.stringify(refund)}::jsonb) as began`.execute(s.admin);
  expect(rows[0]?.began).toBe(true);
  return orderPk;
}
const refuseRefund = (orderPk: string) =>
  sql`update payout set state = 'REFUSED', reason = 'no' where order_pk = ${orderPk}`.execute(s.admin);

describe('refunded deposit', () => {
  test('excludes a refunded deposit when an operator accepts the order', async () => {
    const { order, little, late, balances } = await expired();
    await refundDeposit(late, 1n); // a partial refund suffices
    const id = await p.decide(order, 'ACCEPT');
    await decided(order);
    expect(await p.outcomeOf(id)).toBe('DONE');
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 40n });
    expect(await s.settlement(little)).toMatchObject({ credited: true });
    expect(await s.settlement(late)).toMatchObject({ credited: false });
    expect(await s.unmatched(late)).toBe('AFTER_SUCCESS');
    expect(await balances()).toMatchObject({ SUSPENSE: -60n, MERCHANT: -40n });
  });

  test('rejects an acceptance of refunded money unless the refund was refused', async () => {
    const { order, little, late } = await expired();
    const refunds = [await refundDeposit(little, 40n), await refundDeposit(late, 60n)];
    const first = await p.decide(order, 'ACCEPT');
    await decided(order);
    expect(await p.outcomeOf(first)).toBe('NOT_POSSIBLE');
    expect(await s.state(order)).toMatchObject({ status: 'EXPIRED', actual: 100n });
    for (const refund of refunds) await refuseRefund(refund);
    const second = await p.decide(order, 'ACCEPT');
    await decided(order);
    expect(await p.outcomeOf(second)).toBe('DONE');
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  });

  test('does not count a refunded deposit when further payments in time are found', async () => {
    const { order, little, since } = await expired();
    await refundDeposit(little, 40n);
    await s.verified(await s.verify(await s.transfer(order, 70n)));
    expect(await s.state(order)).toMatchObject({ status: 'EXPIRED', detected: 110n });
    expect(await since()).toEqual(['ORDER_EXPIRED EXPIRED Paid after expiry 0.00017']);
    await s.verified(await s.verify(await s.transfer(order, 30n)));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
    expect(await s.settlement(little)).toMatchObject({ credited: false });
  });

  test('rejects a refund while an acceptance is pending', async () => {
    const { order, late } = await expired();
    await p.decide(order, 'ACCEPT');
    await expect(refundDeposit(late, 60n)).rejects.toThrow('is pending');
    await decided(order);
    await expect(refundDeposit(late, 60n)).rejects.toThrow('cannot be refunded'); // it is credited
  });
});

describe('money that the order did not ask for', () => {
  /** EXPIRED, 100 ordered, with 40 of its own token and 1 of another. */
  async function paidWithOtherAsset(elsewhere: Parameters<TrackerScenario['transfer']>[2] = {}) {
    const merchant = await s.merchant({ notifyReverted: true });
    const order = await s.order({ merchant_id: merchant.merchantId, symbol: 'MINE' });
    await s.chainAt(110, 200);
    const own = await s.verify(await s.transfer(order, 40n));
    const other = await s.verify(
      await s.transfer(order, ONE_OTHER, {
        symbol: OTHER_TOKEN.symbol,
        contract_address: OTHER_TOKEN.contract,
        ...elsewhere,
      }),
    );
    await s.chainAt(140, TTL + 60);
    await s.verified(own, other);
    expect(await s.state(order)).toMatchObject({ status: 'EXPIRED', actual: 40n });
    return { order, merchant, own, other };
  }

  async function accept(order: OrderRow, transfer: TransferRow, worth: bigint): Promise<string> {
    const id = randomUUID();
    await s.admin
      .insertInto('order_decision')
      .values({
        decision_id: id,
        order_pk: order.order_pk,
        decision: 'ACCEPT',
        reason: 'as good',
        operator: 'anna',
        transfer_id: transfer.transfer_id,
        transfer_symbol: transfer.symbol,
        transfer_amount: transfer.amount,
        worth: baseUnits(worth),
      })
      .execute();
    await decided(order);
    return id;
  }

  test.each([
    ['another token', 'WRONG_TOKEN', {}],
    ['another chain', 'WRONG_CHAIN', { chain: 'BSC_TEST' as const }],
  ])(
    'accepts a transfer of %s at the stated worth and credits its own asset',
    async (_, reason, elsewhere) => {
      const { order, merchant, own, other } = await paidWithOtherAsset(elsewhere);
      expect(await s.unmatched(other)).toBe(reason);
      const id = await accept(order, other, 60n);
      expect(await p.outcomeOf(id)).toBe('DONE');
      expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', reason: null, actual: 100n });
      expect(await s.settlement(own)).toMatchObject({ credited: true });
      expect(await s.settlement(other)).toMatchObject({ credited: true });
      expect(await s.unmatched(other)).toBe(`${reason} withdrawn`);
      expect(await s.balances(merchant.merchantId, order.chain, 'MINE')).toMatchObject({ MERCHANT: -40n });
      expect(await s.balances(merchant.merchantId, other.chain, 'OTHER')).toMatchObject({
        MERCHANT: -ONE_OTHER,
      });
      const { data } = (await s.callbacks(order)).at(-1)!;
      expect(data).toMatchObject({ status: 'SUCCESS', actualAmount: '0.0001' });
      expect(data.transaction).toMatchObject({
        txid: other.tx_hash,
        chain: other.chain,
        symbol: 'OTHER',
        decimals: 18,
        amount: '1.00',
        status: 'SUCCESS',
      });
      await expect(refundDeposit(other, 1n)).rejects.toThrow('cannot be refunded');
      await s.verified(other);
      expect(await s.settlement(other)).toMatchObject({ credited: true });
    },
  );

  test('reverses and repeats the credit of an accepted transfer like any credit', async () => {
    const { order, merchant, other } = await paidWithOtherAsset();
    await accept(order, other, 60n);
    const callbacks = (await s.callbacks(order)).length;
    await s.orphaned(await s.orphan(other));
    expect(await s.balances(merchant.merchantId, order.chain, 'OTHER')).toMatchObject({ MERCHANT: 0n });
    expect(await s.incidents(order)).toMatchObject([{ kind: 'CREDITED_TRANSFER_ORPHANED' }]);
    expect((await s.callbacks(order)).slice(callbacks)).toMatchObject([
      { data: { transaction: { symbol: 'OTHER', amount: '1.00', status: 'FAILED' } } },
    ]);
    await s.verified(await s.verify(await s.mineAgain(other, 112, 90)));
    expect(await s.balances(merchant.merchantId, order.chain, 'OTHER')).toMatchObject({
      MERCHANT: -ONE_OTHER,
    });
  });

  test('withdraws the credit if the accepted transfer moves another amount', async () => {
    const { order, merchant, other } = await paidWithOtherAsset();
    await accept(order, other, 60n);
    await s.verified(
      await s.verify(await s.mineAgain(other, 112, 90, { amount: baseUnits(ONE_OTHER / 2n) })),
    );
    expect(await s.settlement(other)).toMatchObject({ credited: false });
    expect(await s.unmatched(other)).toBe('WRONG_TOKEN');
    expect(await s.balances(merchant.merchantId, order.chain, 'OTHER')).toMatchObject({
      MERCHANT: 0n,
      SUSPENSE: -ONE_OTHER / 2n,
    });
  });

  test('does not accept a refunded transfer when the order is paid at the same time', async () => {
    const { order, merchant, other } = await paidWithOtherAsset();
    await refundDeposit(other, 1n);
    await s.verify(await s.transfer(order, 60n)); // in time, and not settled yet
    const id = await accept(order, other, 60n);
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
    expect(await s.settlement(other)).toMatchObject({ credited: false });
    expect(await p.outcomeOf(id)).toBe('NOT_POSSIBLE');
    expect(await s.balances(merchant.merchantId, order.chain, 'OTHER')).not.toMatchObject({
      MERCHANT: -ONE_OTHER,
    });
  });

  test('accepts no transfer that was refunded or changed, or of an open or paid order', async () => {
    const back = await paidWithOtherAsset();
    await refundDeposit(back.other, 1n);
    const changed = await paidWithOtherAsset();
    const open = await s.order({ chain: 'BSC_TEST' });
    const early = await s.verify(
      await s.transfer(open, 7n, { symbol: 'OTHER', contract_address: OTHER_TOKEN.contract }),
    );
    await s.verified(early);
    const twice = await paidWithOtherAsset();
    const outcomes = [
      await accept(back.order, back.other, 60n),
      await accept(changed.order, { ...changed.other, amount: baseUnits(1n) }, 60n),
      await accept(open, early, 100n),
      await accept(twice.order, twice.other, 60n),
      await accept(twice.order, twice.other, 60n),
    ];
    expect(await Promise.all(outcomes.map((id) => p.outcomeOf(id)))).toEqual([
      'NOT_POSSIBLE',
      'NOT_POSSIBLE',
      'NOT_POSSIBLE',
      'DONE',
      'NOT_POSSIBLE',
    ]);
    expect(await s.state(back.order)).toMatchObject({ status: 'EXPIRED' });
    expect(await s.balances(twice.merchant.merchantId, twice.order.chain, 'OTHER')).toMatchObject({
      MERCHANT: -ONE_OTHER,
    });
  });
});
