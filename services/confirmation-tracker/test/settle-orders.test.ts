import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { anEvmAddress, type TransferRow } from '@opentill/testkit/scenario';
import { loadEveryTransfer, loadFacts } from '../src/store/load-facts.ts';
import { lockOrders, ordersOfTransfers } from '../src/store/lock-orders.ts';
import { at, createTrackerScenario, TTL, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
beforeAll(async () => {
  s = await createTrackerScenario();
});
afterAll(() => s.close());

/** Chain at block 100, verified before expiry. Transfers are in block 100 by default. */
async function inTime(): Promise<void> {
  await s.chainAt(102, 120);
}

describe('payment of the exact amount', () => {
  test('shows a detected payment, credits it when verified and notifies in order', async () => {
    await inTime();
    const merchant = await s.merchant();
    const order = await s.order({ merchant_id: merchant.merchantId, uid: 'u-1' });
    const paid = await s.transfer(order, 100n, { network_fee: 21_000_000_000_000n });

    await s.detected(paid);
    expect(await s.state(order)).toEqual({
      status: 'PENDING_CONFIRMATION',
      reason: null,
      detected: 100n,
      actual: null,
    });
    expect(await s.refs(order)).toEqual([]);

    await s.verified(await s.verify(paid));
    expect(await s.state(order)).toEqual({ status: 'SUCCESS', reason: null, detected: 100n, actual: 100n });
    expect(await s.refs(order)).toEqual([`deposit:${paid.transfer_id}:1`, `credit:${order.order_pk}`]);
    expect(await s.balances(merchant.merchantId)).toMatchObject({ SUSPENSE: 0n, MERCHANT: -100n });
    expect(await s.settlement(paid)).toEqual({ version: 2, booked: true, bookings: 1, credited: true });
    expect(await s.unmatched(paid)).toBeNull();

    const callbacks = await s.callbacks(order);
    expect(callbacks.map(({ sequence, type }) => [sequence, type])).toEqual([
      [2, 'ORDER_PENDING_CONFIRMATION'],
      [3, 'ORDER_SUCCESS'],
    ]);
    expect(callbacks[1]?.data).toEqual({
      orderId: order.order_id,
      uid: 'u-1',
      orderType: 'COLLECTION',
      status: 'SUCCESS',
      reason: null,
      amount: '0.0001',
      actualAmount: '0.0001',
      fee: '0',
      feeRatio: '0',
      transaction: {
        chain: 'ETH_SEPOLIA',
        symbol: 'USDT',
        contractAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
        decimals: 6,
        txid: paid.tx_hash,
        from: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
        to: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
        amount: '0.0001',
        blockNum: 100,
        confirmedNum: 3,
        status: 'SUCCESS',
        timestamp: at(60).getTime() / 1_000,
        txGas: '0.000021',
      },
    });
    expect(callbacks[1]?.data.transaction?.to.toLowerCase()).toBe(order.address);
    expect(callbacks[0]?.data.transaction).toMatchObject({ status: 'PENDING', txid: paid.tx_hash });
    const notes = await s.admin
      .selectFrom('notification')
      .select(['event_id', 'data'])
      .where('subject_id', '=', order.order_pk)
      .where('sequence', '>', 1)
      .orderBy('sequence')
      .execute();
    expect(await s.outbox(order)).toEqual(notes.map((note) => note.event_id));
    expect(Object.keys(JSON.parse(notes[0]?.data ?? '{}') as object)).toEqual(
      Object.keys(callbacks[0]?.data ?? {}).toSorted(),
    );
  });

  test('settles a payment seen and verified before the tracker polls at once', async () => {
    await inTime();
    const order = await s.order();
    await s.verified(await s.verify(await s.transfer(order, 100n)));
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION 0.0001',
      'ORDER_SUCCESS SUCCESS 0.0001',
    ]);
    const { rows } = await sql<{ version: number }>`
      select version from orders where order_pk = ${order.order_pk}`.execute(s.admin);
    expect(rows[0]?.version).toBe(4);
  });
});

describe('other amounts', () => {
  test('notifies partial payments one by one and credits them together', async () => {
    await inTime();
    const merchant = await s.merchant();
    const order = await s.order({ merchant_id: merchant.merchantId });
    const first = await s.transfer(order, 30n);
    await s.detected(first);
    expect(await s.state(order)).toMatchObject({ status: 'PENDING', detected: 30n, actual: null });
    await s.verified(await s.verify(first));
    expect(await s.state(order)).toMatchObject({ status: 'PENDING', actual: 30n });
    expect(await s.balances(merchant.merchantId)).toMatchObject({ SUSPENSE: -30n });
    const second = await s.transfer(order, 30n);
    await s.detected(second);
    const third = await s.transfer(order, 45n);
    await s.detected(third);
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION', detected: 105n });
    await s.verified(await s.verify(second), await s.verify(third));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 105n });
    expect(await s.balances(merchant.merchantId)).toMatchObject({ SUSPENSE: 0n, MERCHANT: -105n });
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING PENDING',
      'ORDER_PENDING PENDING 0.00003',
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION 0.00003',
      'ORDER_SUCCESS SUCCESS 0.000105',
    ]);
  });

  test('credits an overpayment in full', async () => {
    await inTime();
    const order = await s.order();
    await s.verified(await s.verify(await s.transfer(order, 300n)));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 300n });
  });

  test("accepts an amount within the order's tolerance", async () => {
    await inTime();
    const order = await s.order({ accepted_amount: 98n });
    const paid = await s.transfer(order, 98n);
    await s.detected(paid);
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
    await s.verified(await s.verify(paid));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 98n });
    const short = await s.order({ accepted_amount: 98n });
    await s.detected(await s.transfer(short, 97n));
    expect(await s.state(short)).toMatchObject({ status: 'PENDING' });
  });

  test('leaves a payment after SUCCESS unmatched without changing the order', async () => {
    await inTime();
    const merchant = await s.merchant();
    const order = await s.order({ merchant_id: merchant.merchantId });
    await s.verified(await s.verify(await s.transfer(order, 100n)));
    const before = await s.story(order);
    const extra = await s.transfer(order, 7n, { block_height: 101 });
    await s.detected(extra);
    expect(await s.unmatched(extra)).toBe('AFTER_SUCCESS');
    await s.verified(await s.verify(extra));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n, detected: 100n });
    expect(await s.balances(merchant.merchantId)).toMatchObject({ SUSPENSE: -7n, MERCHANT: -100n });
    expect(await s.story(order)).toEqual(before);
  });

  test('leaves a payment unmatched that is unverified at SUCCESS', async () => {
    await inTime();
    const order = await s.order();
    const paid = await s.transfer(order, 100n);
    const more = await s.transfer(order, 5n, { block_height: 102 });
    await s.detected(paid, more);
    await s.verified(await s.verify(paid));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
    expect(await s.unmatched(more)).toBe('AFTER_SUCCESS');
    const success = (await s.callbacks(order)).at(-1);
    expect(success?.data.transaction?.txid).toBe(paid.tx_hash);
  });

  test('keeps amounts of 78 digits exact', async () => {
    await inTime();
    const amount = 10n ** 77n + 1n;
    const order = await s.order({ amount, accepted_amount: amount, decimals: 18, symbol: 'HUGE' });
    await s.verified(await s.verify(await s.transfer(order, amount)));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: amount, detected: amount });
    expect((await s.balances(order.merchant_id, order.chain, 'HUGE'))['MERCHANT']).toBe(-amount);
  });
});

describe('expiry', () => {
  test('expires an order by the verified time of its chain, not before', async () => {
    const order = await s.order();
    await s.chainAt(500, TTL);
    await s.sweepDue();
    expect(await s.state(order)).toMatchObject({ status: 'INIT' });
    await s.chainAt(501, TTL + 1);
    await s.sweepDue();
    expect(await s.state(order)).toMatchObject({ status: 'EXPIRED', reason: 'Not paid', actual: null });
    expect(await s.story(order)).toEqual(['ORDER_EXPIRED EXPIRED Not paid']);
  });

  test('expires orders by their own chain and after the late grace', async () => {
    const graced = await s.order({ late_grace_seconds: 600 });
    const elsewhere = await s.order({ chain: 'BSC_TEST' });
    await s.chainAt(500, TTL + 600);
    await s.chainAt(500, 10, 'BSC_TEST');
    await s.sweepDue();
    expect(await s.state(graced)).toMatchObject({ status: 'INIT' });
    expect(await s.state(elsewhere)).toMatchObject({ status: 'INIT' });
    const late = await s.verify(await s.transfer(graced, 100n, { atSecond: TTL + 600, block_height: 400 }));
    await s.chainAt(500, TTL + 601);
    await s.verified(late);
    expect(await s.state(graced)).toMatchObject({ status: 'SUCCESS' });
    expect(await s.state(elsewhere)).toMatchObject({ status: 'INIT' });
  });

  test('reports the received amount of an underpaid order at expiry', async () => {
    await inTime();
    const order = await s.order();
    const paid = await s.transfer(order, 60n);
    await s.detected(paid);
    await s.verified(await s.verify(paid));
    await s.chainAt(600, TTL + 1);
    await s.sweepDue();
    expect(await s.state(order)).toMatchObject({ status: 'EXPIRED', reason: 'Underpaid', actual: 60n });
    expect(await s.unmatched(paid)).toBe('UNDERPAID');
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING PENDING',
      'ORDER_EXPIRED EXPIRED Underpaid 0.00006',
    ]);
  });

  test('does not expire an order with an unsettled payment in time', async () => {
    const order = await s.order();
    await s.transfer(order, 100n, { block_height: 550 });
    await s.chainAt(600, TTL + 1);
    await s.sweepDue();
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
  });

  test('records and reports a late payment', async () => {
    const merchant = await s.merchant();
    const order = await s.order({ merchant_id: merchant.merchantId });
    await s.chainAt(600, TTL + 1);
    await s.sweepDue();
    const late = await s.transfer(order, 100n, { atSecond: TTL + 30, block_height: 605 });
    await s.detected(late);
    expect(await s.unmatched(late)).toBe('LATE');
    expect(await s.state(order)).toMatchObject({ status: 'EXPIRED', reason: 'Not paid', actual: null });
    await s.chainAt(610, TTL + 60);
    await s.verified(await s.verify(late));
    expect(await s.state(order)).toMatchObject({
      status: 'EXPIRED',
      reason: 'Paid after expiry',
      actual: 100n,
    });
    expect(await s.story(order)).toEqual([
      'ORDER_EXPIRED EXPIRED Not paid',
      'ORDER_EXPIRED EXPIRED Paid after expiry 0.0001',
    ]);
    expect((await s.callbacks(order)).at(-1)?.data.transaction?.txid).toBe(late.tx_hash);
    expect(await s.balances(merchant.merchantId)).toMatchObject({ SUSPENSE: -100n });
  });

  test('revives an expired order when a payment in time is found', async () => {
    const order = await s.order();
    await s.chainAt(600, TTL + 1);
    await s.sweepDue();
    const paid = await s.transfer(order, 100n, { atSecond: TTL, block_height: 605 });
    await s.detected(paid);
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION', reason: null });
    await s.chainAt(610, TTL + 30);
    await s.verified(await s.verify(paid));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', reason: null, actual: 100n });
    expect(await s.story(order)).toEqual([
      'ORDER_EXPIRED EXPIRED Not paid',
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
      'ORDER_SUCCESS SUCCESS 0.0001',
    ]);
  });

  test('expires 1,200 orders in bounded transactions', async () => {
    const merchant = await s.merchant();
    await sql`
      insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, decimals, display_decimals,
        amount, accepted_amount, address, created_at, expires_at)
      select gen_random_uuid(), ${merchant.merchantId}, 'many-' || n, 'COLLECTION', 'BSC_TEST', 'EVM', 'USDT', 6, 2,
        100, 100, '0x' || lpad(to_hex(n), 40, '0'), ${at(0)}, ${at(TTL)} from generate_series(1, 1200) n`.execute(
      s.admin,
    );
    await s.chainAt(900, TTL + 1, 'BSC_TEST');
    await s.sweepDue();
    const { rows } = await sql<{ status: string; orders: number; callbacks: number }>`
      select status, count(*) as orders, (select count(*) from notification n where n.merchant_id = ${merchant.merchantId}) as callbacks
      from orders where merchant_id = ${merchant.merchantId} group by status`.execute(s.admin);
    expect(rows).toEqual([{ status: 'EXPIRED', orders: 1200, callbacks: 1200 }]);
  });
});

describe('deposit that the order did not ask for', () => {
  test('books a deposit of another token as unmatched', async () => {
    await inTime();
    const merchant = await s.merchant();
    const order = await s.order({ merchant_id: merchant.merchantId });
    const wrong = await s.transfer(order, 100n, { contract_address: anEvmAddress(), symbol: 'USDC' });
    await s.detected(wrong);
    expect(await s.unmatched(wrong)).toBe('WRONG_TOKEN');
    await s.verified(await s.verify(wrong));
    expect(await s.state(order)).toMatchObject({ status: 'INIT', detected: 0n });
    expect(await s.story(order)).toEqual([]);
    expect(await s.balances(merchant.merchantId, 'ETH_SEPOLIA', 'USDC')).toEqual({
      DEPOSIT: 100n,
      SUSPENSE: -100n,
    });
  });

  test('books a deposit of the same token on another chain as unmatched', async () => {
    await inTime();
    const merchant = await s.merchant();
    const order = await s.order({ merchant_id: merchant.merchantId });
    const wrong = await s.transfer(order, 100n, { chain: 'BSC_TEST', symbol: 'WBSC' });
    await s.verified(await s.verify(wrong));
    expect(await s.unmatched(wrong)).toBe('WRONG_CHAIN');
    expect(await s.state(order)).toMatchObject({ status: 'INIT', detected: 0n });
    expect(await s.balances(merchant.merchantId, 'BSC_TEST', 'WBSC')).toEqual({
      DEPOSIT: 100n,
      SUSPENSE: -100n,
    });
  });

  test('treats the same symbol with another contract as another token', async () => {
    await inTime();
    const order = await s.order();
    const fake = await s.transfer(order, 100n, { contract_address: anEvmAddress() });
    await s.verified(await s.verify(fake));
    expect(await s.state(order)).toMatchObject({ status: 'INIT' });
  });

  test('withdraws an orphaned unmatched deposit and reverses its booking', async () => {
    await inTime();
    const merchant = await s.merchant();
    const order = await s.order({ merchant_id: merchant.merchantId });
    const wrong = await s.verify(
      await s.transfer(order, 9n, { contract_address: anEvmAddress(), symbol: 'DAI' }),
    );
    await s.verified(wrong);
    await s.orphaned(await s.orphan(wrong));
    expect(await s.unmatched(wrong)).toBe('WRONG_TOKEN withdrawn');
    expect(await s.balances(merchant.merchantId, 'ETH_SEPOLIA', 'DAI')).toEqual({
      DEPOSIT: 0n,
      SUSPENSE: 0n,
    });
    expect(await s.incidents(order)).toEqual([]);
  });

  test('leaves a deposit to a refused order unmatched', async () => {
    await inTime();
    const order = await s.order({ status: 'FAILED', reason: 'refused' });
    const paid = await s.transfer(order, 100n);
    await s.verified(await s.verify(paid));
    expect(await s.unmatched(paid)).toBe('ORDER_FAILED');
    expect(await s.state(order)).toMatchObject({ status: 'FAILED', reason: 'refused' });
    expect(await s.story(order)).toEqual([]);
  });
});

describe('confirmations', () => {
  test('waits for the head if an order needs more depth than the verified cursor', async () => {
    await s.chainAt(102, 120);
    const order = await s.order({ confirmations_required: 10 });
    const paid = await s.transfer(order, 100n);
    await s.detected(paid);
    await s.verified(await s.verify(paid));
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION', actual: null });
    expect(await s.settlement(paid)).toMatchObject({ booked: true, credited: false });
    await s.chainAt(108, 200);
    await s.sweepDue();
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
    await s.chainAt(109, 212);
    await s.sweepDue();
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
    expect((await s.callbacks(order)).at(-1)?.data.transaction).toMatchObject({
      confirmedNum: 10,
      status: 'SUCCESS',
    });
  });

  test('credits at the verified cursor without a required number', async () => {
    await s.chainAt(100, 120);
    const order = await s.order({ confirmations_required: null });
    await s.verified(await s.verify(await s.transfer(order, 100n)));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
  });
});

describe('reorganisation before SUCCESS', () => {
  test('moves an order back when its payment vanishes, and forward when it returns', async () => {
    await inTime();
    const order = await s.order();
    const paid = await s.transfer(order, 100n);
    await s.detected(paid);
    await s.orphaned(await s.orphan(paid));
    expect(await s.state(order)).toEqual({
      status: 'INIT',
      reason: 'Reorganised',
      detected: 0n,
      actual: null,
    });
    expect((await s.callbacks(order)).at(-1)?.data.transaction).toBeNull();
    const again = await s.mineAgain(paid, 101, 72);
    await s.detected(again);
    await s.chainAt(103, 132);
    await s.verified(await s.verify(again));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', reason: null, actual: 100n });
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
      'ORDER_PENDING INIT Reorganised',
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
      'ORDER_SUCCESS SUCCESS 0.0001',
    ]);
    expect((await s.callbacks(order)).at(-1)?.data.transaction).toMatchObject({ blockNum: 101 });
  });

  test('moves an order to PENDING when the first of two vanished payments returns', async () => {
    await inTime();
    const order = await s.order();
    const [four, six] = [await s.transfer(order, 40n), await s.transfer(order, 60n, { block_height: 101 })];
    await s.detected(four, six);
    await s.orphaned(await s.orphan(four), await s.orphan(six));
    const firstBack = await s.mineAgain(four, 102, 72);
    await s.detected(firstBack);
    expect(await s.state(order)).toEqual({
      status: 'PENDING',
      reason: 'Reorganised',
      detected: 40n,
      actual: null,
    });
    await s.detected(await s.mineAgain(six, 103, 84));
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION', reason: null });
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
      'ORDER_PENDING INIT Reorganised',
      'ORDER_PENDING PENDING Reorganised',
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
    ]);
  });

  test('keeps a moved payment in time without a callback', async () => {
    await inTime();
    const order = await s.order();
    const paid = await s.transfer(order, 100n, { atSecond: TTL });
    await s.detected(paid);
    await s.orphan(paid);
    const moved = await s.mineAgain(paid, 103, TTL + 24);
    await s.chainAt(110, TTL + 90);
    await s.orphaned(moved);
    await s.detected(moved);
    await s.verified(await s.verify(moved));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
      'ORDER_SUCCESS SUCCESS 0.0001',
    ]);
  });

  test('leaves a partial payment when a smaller one replaces the payment', async () => {
    await inTime();
    const order = await s.order();
    const paid = await s.transfer(order, 100n);
    await s.detected(paid);
    await s.orphan(paid);
    const replacement = await s.transfer(order, 40n, { block_height: 101 });
    await s.detected(replacement);
    expect(await s.state(order)).toEqual({
      status: 'PENDING',
      reason: 'Reorganised',
      detected: 40n,
      actual: null,
    });
    expect((await s.callbacks(order)).at(-1)?.data.transaction?.txid).toBe(replacement.tx_hash);
  });

  test('reverses a verified transfer that waits for more depth without an incident', async () => {
    await s.chainAt(102, 120);
    const merchant = await s.merchant();
    const order = await s.order({
      merchant_id: merchant.merchantId,
      confirmations_required: 10,
      symbol: 'TIER',
    });
    const paid = await s.verify(await s.transfer(order, 100n));
    await s.verified(paid);
    await s.orphaned(await s.orphan(paid));
    expect(await s.state(order)).toMatchObject({ status: 'INIT', reason: 'Reorganised', actual: null });
    expect(await s.balances(merchant.merchantId, 'ETH_SEPOLIA', 'TIER')).toEqual({
      DEPOSIT: 0n,
      SUSPENSE: 0n,
    });
    expect(await s.refs(order)).toEqual([
      `deposit:${paid.transfer_id}:1`,
      `deposit-reversed:${paid.transfer_id}:1`,
    ]);
    expect(await s.incidents(order)).toEqual([]);
  });
});

describe('reorganisation after SUCCESS', () => {
  test('reverses the credit, holds the asset and notifies the merchant if enabled', async () => {
    await inTime();
    const merchant = await s.merchant({ notifyReverted: true });
    const order = await s.order({ merchant_id: merchant.merchantId, symbol: 'REV' });
    const paid = await s.verify(await s.transfer(order, 100n));
    await s.verified(paid);
    const orphan = await s.orphan(paid);
    await s.orphaned(orphan);
    await s.orphaned(orphan);

    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n, reason: null });
    expect(await s.balances(merchant.merchantId, 'ETH_SEPOLIA', 'REV')).toEqual({
      DEPOSIT: 0n,
      SUSPENSE: 0n,
      MERCHANT: 0n,
    });
    const id = paid.transfer_id;
    expect(await s.refs(order)).toEqual([
      `deposit:${id}:1`,
      `credit:${order.order_pk}`,
      `credit-reversed:${id}:1`,
      `deposit-reversed:${id}:1`,
    ]);
    const incidents = await s.incidents(order);
    expect(incidents).toHaveLength(1);
    expect(incidents[0]).toMatchObject({
      kind: 'CREDITED_TRANSFER_ORPHANED',
      chain: 'ETH_SEPOLIA',
      symbol: 'REV',
      transfer_id: id,
      closed_at: null,
      details: { txHash: paid.tx_hash, amountBaseUnits: '100', orderId: order.order_id },
    });
    const holds = await s.admin.selectFrom('asset_hold').selectAll().where('symbol', '=', 'REV').execute();
    expect(holds).toMatchObject([
      { chain: 'ETH_SEPOLIA', released_at: null, incident_id: incidents[0]?.incident_id },
    ]);
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION 0.0001',
      'ORDER_SUCCESS SUCCESS 0.0001',
      'ORDER_REVERTED SUCCESS Reorganised 0.0001',
    ]);
    expect((await s.callbacks(order)).at(-1)?.data.transaction).toMatchObject({
      txid: paid.tx_hash,
      status: 'FAILED',
    });

    // Mined again: booked and credited under new references; the incident stays, with a note.
    await s.verified(await s.verify(await s.mineAgain(paid, 105, 130)));
    expect(await s.balances(merchant.merchantId, 'ETH_SEPOLIA', 'REV')).toEqual({
      DEPOSIT: 100n,
      SUSPENSE: 0n,
      MERCHANT: -100n,
    });
    expect((await s.refs(order)).slice(4)).toEqual([`deposit:${id}:2`, `credit-again:${id}:2`]);
    expect(await s.incidents(order)).toMatchObject([
      { closed_at: null, details: { creditedAgainBooking: 2 } },
    ]);
    expect(await s.unmatched(paid)).toBeNull();
    expect(await s.story(order)).toHaveLength(3);
    await s.orphaned(await s.orphan(paid));
    expect(await s.incidents(order)).toHaveLength(2);
    expect(await s.balances(merchant.merchantId, 'ETH_SEPOLIA', 'REV')).toEqual({
      DEPOSIT: 0n,
      SUSPENSE: 0n,
      MERCHANT: 0n,
    });
  });

  test('sends no callback to a merchant without ORDER_REVERTED', async () => {
    await inTime();
    const order = await s.order();
    const paid = await s.verify(await s.transfer(order, 100n));
    await s.verified(paid);
    await s.orphaned(await s.orphan(paid));
    expect((await s.story(order)).at(-1)).toBe('ORDER_SUCCESS SUCCESS 0.0001');
    expect(await s.incidents(order)).toHaveLength(1);
  });

  test('reverses only the share of the orphaned transfer', async () => {
    await inTime();
    const merchant = await s.merchant();
    const order = await s.order({ merchant_id: merchant.merchantId, symbol: 'PART' });
    const kept = await s.verify(await s.transfer(order, 70n));
    const lost = await s.verify(await s.transfer(order, 40n));
    await s.verified(kept, lost);
    await s.orphaned(await s.orphan(lost));
    expect(await s.balances(merchant.merchantId, 'ETH_SEPOLIA', 'PART')).toEqual({
      DEPOSIT: 70n,
      SUSPENSE: 0n,
      MERCHANT: -70n,
    });
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 110n });
  });
});

describe('events', () => {
  test('settles all orders of an event in one transaction', async () => {
    await inTime();
    const orders = await Promise.all([s.order(), s.order(), s.order()]);
    const transfers = await Promise.all(orders.map((order) => s.transfer(order, 100n)));
    await s.detected(...transfers);
    for (const order of orders)
      expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
  });

  test('settles the other orders of an event when one of them fails', async () => {
    await inTime();
    const bad = await s.order({ symbol: 'BAD' });
    const good = await s.order();
    // A reference that is already used causes an error of this order only.
    const transfers = [
      await s.verify(await s.transfer(bad, 100n)),
      await s.verify(await s.transfer(good, 100n)),
    ];
    await sql`
      with t as (insert into ledger_transaction (ref, kind) values (${`deposit:${transfers[0]?.transfer_id}:1`}, 'TOP_UP') returning ledger_tx_id)
      insert into ledger_posting
      select ledger_tx_id, ledger_account_for('HOT_AVAILABLE', 'ETH_SEPOLIA', 'BAD', null), 1 from t union all
      select ledger_tx_id, ledger_account_for('OWNER', 'ETH_SEPOLIA', 'BAD', null), -1 from t`.execute(
      s.admin,
    );
    await expect(s.verified(...transfers)).rejects.toMatchObject({ code: 'DATABASE_CONSTRAINT' });
    expect(await s.state(good)).toMatchObject({ status: 'SUCCESS' });
    expect(await s.state(bad)).toMatchObject({ status: 'INIT' });
    expect(s.observe.calls.filter(({ what }) => what === 'notSettled')).toHaveLength(1);
  });

  test('ignores an unknown transfer', async () => {
    await s.deliver({
      id: '00000000-0000-4000-8000-000000000001',
      type: 'transfer.detected',
      version: 1,
      occurredAt: new Date().toISOString(),
      data: { chain: 'ETH_SEPOLIA', transferIds: ['999999999'] },
    });
    expect(
      await s.admin.selectFrom('transfer_settlement').where('transfer_id', '=', 999_999_999).execute(),
    ).toEqual([]);
  });
});

test('balances every asset, and SUSPENSE equals the verified, uncredited amounts', async () => {
  const { rows } = await sql<{ chain: string; symbol: string; sum: bigint }>`
    select chain, symbol, sum(balance) as sum from ledger_account group by chain, symbol having sum(balance) <> 0`.execute(
    s.admin,
  );
  expect(rows).toEqual([]);
  const { rows: suspense } = await sql`
    with expected as (
      select o.merchant_id, t.chain, t.symbol, -sum(t.amount) as balance
      from transfer t join transfer_settlement x using (transfer_id) join orders o using (order_pk)
      where t.state = 'VERIFIED' and x.booked and not x.credited group by 1, 2, 3
    )
    select * from ledger_account a left join expected e using (merchant_id, chain, symbol)
    where a.kind = 'SUSPENSE' and a.balance <> coalesce(e.balance, 0)`.execute(s.admin);
  expect(suspense).toEqual([]);
});

test('settles a payment to a SUCCESS order without reading earlier ones', async () => {
  const order = await s.order();
  await s.chainAt(110, 200);
  await s.verified(await s.verify(await s.transfer(order, 100n)));
  const dust: TransferRow[] = [];
  for (let i = 0; i < 30; i += 1) dust.push(await s.verify(await s.transfer(order, 1n)));
  await s.verified(...dust);
  const another = await s.verify(await s.transfer(order, 1n));
  await s.deps.db.transaction().execute(async (tx) => {
    const selection = ordersOfTransfers([another.transfer_id]);
    const locked = await lockOrders(tx, selection);
    const { transferIds } = selection;
    const { verifiedDepths, tokens } = s.deps;
    const known = { orders: locked, transferIds, verifiedDepths, tokens };
    const facts = await loadFacts(tx, known);
    expect(facts.get(order.order_pk)?.transfers.map((t) => t.transferId)).toEqual([another.transfer_id]);
    for await (const page of loadEveryTransfer(tx, known)) expect(page.others).toHaveLength(31);
  });
  await s.verified(another);
  for (const transfer of [...dust, another]) expect(await s.unmatched(transfer)).toBe('AFTER_SUCCESS');
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
});
