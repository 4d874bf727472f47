import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { anEvmAddress, type OrderRow } from '@opentill/testkit/scenario';
import { createTransferSweep } from '../src/sweep-transfers.ts';
import { createTrackerScenario, type TrackerScenario } from './tracker-scenario.ts';

// A contract call may act differently when it is mined again. The same position of the transaction then holds another
// amount, token or receiver. The scanner overwrites the row, so the tracker must remember what it booked.
let s: TrackerScenario;
beforeAll(async () => {
  s = await createTrackerScenario();
});
beforeEach(() => s.chainAt(102, 120));
afterAll(() => s.close());

let assets = 0;
/** 100 in a unique asset, paid by one verified transfer. */
async function creditedOrder(notifyReverted = false) {
  const merchant = await s.merchant({ notifyReverted });
  const symbol = `A${(assets += 1)}`;
  const order = await s.order({ merchant_id: merchant.merchantId, symbol });
  const paid = await s.verify(await s.transfer(order, 100n));
  await s.verified(paid);
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  return { order, paid, symbol, balances: () => s.balances(merchant.merchantId, 'ETH_SEPOLIA', symbol) };
}

const later = (order: OrderRow) => s.refs(order).then((refs) => refs.slice(2));

describe('transaction mined again with another amount', () => {
  test.each([40n, 250n])('reverses the booking when mined again with %s, detected first', async (amount) => {
    const { order, paid, balances } = await creditedOrder();
    const id = paid.transfer_id;
    await s.detected(await s.mineAgain(paid, 104, 130, { amount }));
    expect(await balances()).toEqual({ DEPOSIT: 0n, SUSPENSE: 0n, MERCHANT: 0n });
    await s.verified(await s.verify(paid));
    expect(await balances()).toEqual({ DEPOSIT: amount, SUSPENSE: 0n, MERCHANT: -amount });
    expect(await later(order)).toEqual([
      `credit-reversed:${id}:1`,
      `deposit-reversed:${id}:1`,
      `deposit:${id}:2`,
      `credit-again:${id}:2`,
    ]);
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  });

  test.each([40n, 250n])(
    'reverses the booking when mined again with %s and orphaned before settlement',
    async (amount) => {
      const { paid, balances } = await creditedOrder();
      await s.mineAgain(paid, 104, 130, { amount });
      await s.orphaned(await s.orphan(paid));
      expect(await balances()).toEqual({ DEPOSIT: 0n, SUSPENSE: 0n, MERCHANT: 0n });
    },
  );

  test('reverses the old amount, books the new one and opens an incident at once', async () => {
    const { order, paid, balances } = await creditedOrder(true);
    const id = paid.transfer_id;
    await s.verified(await s.mineAgain(paid, 104, 130, { amount: 40n, state: 'VERIFIED' }));
    expect(await balances()).toEqual({ DEPOSIT: 40n, SUSPENSE: 0n, MERCHANT: -40n });
    expect(await later(order)).toEqual([
      `credit-reversed:${id}:1`,
      `deposit-reversed:${id}:1`,
      `deposit:${id}:2`,
      `credit-again:${id}:2`,
    ]);
    expect(await s.incidents(order)).toMatchObject([
      { details: { booking: 1, amountBaseUnits: '100', creditedAgainBooking: 2 } },
    ]);
    expect((await s.story(order)).at(-1)).toBe('ORDER_REVERTED SUCCESS Reorganised 0.0001');
    expect((await s.callbacks(order)).at(-1)?.data.transaction).toMatchObject({
      status: 'FAILED',
      amount: '0.0001',
    });
    // the next reversal is of 40 and opens a second incident
    await s.orphaned(await s.orphan(paid));
    expect(await balances()).toEqual({ DEPOSIT: 0n, SUSPENSE: 0n, MERCHANT: 0n });
    expect((await s.incidents(order)).map(({ details }) => details)).toMatchObject([
      { booking: 1 },
      { booking: 2, amountBaseUnits: '40' },
    ]);
  });

  test('keeps the booking of a transfer mined again with the same amount', async () => {
    const { order, paid, balances } = await creditedOrder();
    await s.verified(await s.mineAgain(paid, 104, 130, { state: 'VERIFIED' }));
    expect(await balances()).toEqual({ DEPOSIT: 100n, SUSPENSE: 0n, MERCHANT: -100n });
    expect(await later(order)).toEqual([]);
    expect(await s.incidents(order)).toEqual([]);
  });

  test('counts the new amount of a transfer mined again for an open order', async () => {
    const merchant = await s.merchant();
    const own = { merchant_id: merchant.merchantId, symbol: 'OPEN', confirmations_required: 12 };
    const order = await s.order(own);
    const paid = await s.verify(await s.transfer(order, 100n));
    await s.verified(paid);
    await s.verified(await s.mineAgain(paid, 104, 130, { amount: 40n, state: 'VERIFIED' }));
    expect(await s.state(order)).toMatchObject({ status: 'PENDING', detected: 40n });
    expect(await s.balances(merchant.merchantId, 'ETH_SEPOLIA', 'OPEN')).toMatchObject({
      DEPOSIT: 40n,
      SUSPENSE: -40n,
    });
    expect(await s.incidents(order)).toEqual([]);
  });
});

describe('transaction mined again with another token', () => {
  test('reverses the old asset and books the new token as unmatched', async () => {
    const { order, paid, symbol, balances } = await creditedOrder(true);
    const other = { symbol: `${symbol}X`, contract_address: anEvmAddress(), amount: 7n };
    await s.verified(await s.mineAgain(paid, 104, 130, { ...other, state: 'VERIFIED' }));
    expect(await balances()).toEqual({ DEPOSIT: 0n, SUSPENSE: 0n, MERCHANT: 0n });
    expect(await s.balances(order.merchant_id, 'ETH_SEPOLIA', other.symbol)).toEqual({
      DEPOSIT: 7n,
      SUSPENSE: -7n,
    });
    expect(await s.unmatched(paid)).toBe('WRONG_TOKEN');
    expect(await s.settlement(paid)).toMatchObject({ booked: true, bookings: 2, credited: false });
    expect(await s.incidents(order)).toMatchObject([{ symbol, details: { amountBaseUnits: '100' } }]);
    expect((await s.callbacks(order)).at(-1)).toMatchObject({
      type: 'ORDER_REVERTED',
      data: { transaction: { symbol, status: 'FAILED', amount: '0.0001' } },
    });
  });

  test('reverses the credit for another contract with the same symbol and amount', async () => {
    const { order, paid, balances } = await creditedOrder();
    await s.verified(
      await s.mineAgain(paid, 104, 130, { contract_address: anEvmAddress(), state: 'VERIFIED' }),
    );
    expect(await balances()).toEqual({ DEPOSIT: 100n, SUSPENSE: -100n, MERCHANT: 0n });
    expect(await s.unmatched(paid)).toBe('WRONG_TOKEN');
    expect(await s.incidents(order)).toHaveLength(1);
  });
});

describe('transaction mined again to another deposit address', () => {
  const sweep = async () => {
    const next = createTransferSweep(s.deps, {
      pageSize: 5_000,
      graceMs: 0,
      lookBackMs: 300_000,
      from: 'beginning' as const,
    });
    while ((await next(new AbortController().signal)) === 'again');
  };

  test('opens an incident for the credited order and pays the other one', async () => {
    const { order, paid, symbol, balances } = await creditedOrder();
    await s.chainAt(110, 150);
    const [same, foreign] = [
      await s.order({ merchant_id: order.merchant_id, symbol }),
      await s.order({ symbol }),
    ];
    const id = paid.transfer_id;
    await s.verified(await s.mineAgain(paid, 104, 130, { to_address: same.address, state: 'VERIFIED' }));
    expect(await s.incidents(order)).toHaveLength(1);
    await sweep();
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
    expect(await s.state(same)).toMatchObject({ status: 'SUCCESS', actual: 100n });
    expect(await s.refs(same)).toEqual([`deposit:${id}:2`, `credit:${same.order_pk}`]);
    expect(await balances()).toEqual({ DEPOSIT: 100n, SUSPENSE: 0n, MERCHANT: -100n });

    // then to an order of another merchant
    await s.detected(await s.mineAgain(paid, 105, 140, { to_address: foreign.address }));
    await sweep();
    await s.verified(await s.verify(paid));
    expect(await s.state(foreign)).toMatchObject({ status: 'SUCCESS' });
    expect(await balances()).toEqual({ DEPOSIT: 100n, SUSPENSE: 0n, MERCHANT: 0n });
    expect(await s.balances(foreign.merchant_id, 'ETH_SEPOLIA', symbol)).toMatchObject({ MERCHANT: -100n });
    expect(await s.incidents(same)).toHaveLength(1);
    expect(await s.incidents(foreign)).toEqual([]);
  });

  test('moves an uncredited order back and transfers its unmatched deposit', async () => {
    const [seen, closed] = [await s.order(), await s.order()];
    await s.verified(await s.verify(await s.transfer(closed, 100n)));
    const transfer = await s.transfer(seen, 100n);
    await s.detected(transfer);
    expect(await s.state(seen)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
    await s.detected(await s.mineAgain(transfer, 104, 130, { to_address: closed.address }));
    expect(await s.state(seen)).toMatchObject({ status: 'INIT', reason: 'Reorganised', detected: 0n });
    await sweep();
    expect(await s.unmatched(transfer)).toBe('AFTER_SUCCESS');
    const row = await s.admin
      .selectFrom('unmatched_deposit')
      .select(['order_pk', 'merchant_id'])
      .where('transfer_id', '=', transfer.transfer_id)
      .executeTakeFirst();
    expect(row).toEqual({ order_pk: closed.order_pk, merchant_id: closed.merchant_id });
    await s.detected(await s.mineAgain(transfer, 105, 140, { to_address: seen.address }));
    await sweep();
    expect(await s.state(seen)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
    expect(await s.unmatched(transfer)).toBe('AFTER_SUCCESS withdrawn');
  });
});

test('balances every asset and books exactly the verified amounts', async () => {
  const { rows: unbalanced } = await sql`
    select chain, symbol from ledger_account group by 1, 2 having sum(balance) <> 0`.execute(s.admin);
  expect(unbalanced).toEqual([]);
  const { rows: wrong } = await sql`
    with verified as (select chain, symbol, sum(amount) as amount from transfer where state = 'VERIFIED' group by 1, 2)
    select a.symbol, a.balance, v.amount from ledger_account a left join verified v using (chain, symbol)
    where a.kind = 'DEPOSIT' and a.balance <> coalesce(v.amount, 0)`.execute(s.admin);
  expect(wrong).toEqual([]);
});
