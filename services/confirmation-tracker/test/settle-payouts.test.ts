import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { Address } from '@opentill/chain/address-codec';
import { anOwnTransaction } from '@opentill/testkit/payout-scenario';
import { createCrashingDatabase } from './crashing-database.ts';
import { findDuePayouts } from '../src/store/find-payouts.ts';
import { changed, fated, payoutsOn, sweepDue, sweepFates, type Payouts } from './payout-scenario.ts';
import { createTrackerScenario, handle, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
let p: Payouts;
beforeAll(async () => {
  s = await createTrackerScenario();
  p = payoutsOn(s);
  await s.chainAt(110, 200);
});
afterAll(async () => {
  await p.checkBooks();
  await s.close();
});

const FEE = 63_000_000_000_000n;
const past = () => new Date(Date.now() - 1_000);
const show = (address: string | null) => evmAddressCodec.format((address ?? '') as Address);
const reservedAt = { HOT_AVAILABLE: -100n };

describe('a payout', () => {
  test('walks to SUCCESS: each callback, the ledger at each step', async () => {
    const order = await p.payout();
    const transaction = await p.sign(order);
    await handle(changed(order), s.deps); // signed, not sent: nothing to say
    expect(await s.state(order)).toMatchObject({ status: 'INIT' });
    expect(await p.standsFor(order)).toEqual({ ...reservedAt, HOT_RESERVED: 100n });

    await p.sent(order);
    expect(await s.state(order)).toEqual({ status: 'PENDING', reason: null, detected: 0n, actual: null });
    expect(await p.standsFor(order)).toEqual({ ...reservedAt, IN_FLIGHT: 100n });

    await p.fated(transaction, 'MINED', { block_height: 109 });
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
    await p.fated(transaction, 'VERIFIED', { block_height: 109 });
    expect(await s.state(order)).toEqual({ status: 'SUCCESS', reason: null, detected: 0n, actual: 100n });
    expect(await p.standsFor(order)).toEqual({
      ...reservedAt,
      PAID_OUT: 100n,
      NETWORK_FEE: FEE,
      HOT_GAS: -FEE,
    });

    const told = await s.told(order);
    expect(told.map((one) => one.sequence)).toEqual([2, 3, 4]);
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING PENDING',
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
      'ORDER_SUCCESS SUCCESS 0.0001',
    ]);
    const transactionShown = {
      chain: 'ETH_SEPOLIA',
      symbol: 'USDT',
      contractAddress: show(order.contract_address),
      decimals: 6,
      txid: transaction.tx_hash,
      from: show(order.source_address),
      to: show(order.address),
      amount: '0.0001',
      blockNum: 109,
      confirmedNum: 2,
      timestamp: expect.any(Number),
      txGas: '0.000063',
    };
    expect(told.map((one) => one.data.transaction)).toEqual([
      null,
      { ...transactionShown, status: 'PENDING' },
      { ...transactionShown, status: 'SUCCESS' },
    ]);
    expect(told.at(-1)?.data).toMatchObject({ orderType: 'PAYOUT', amount: '0.0001', fee: '0' });
    expect(await s.outbox(order)).toHaveLength(3);
    expect(await s.incidents(order)).toEqual([]);
  });

  test('fails by the policy’s reason and gives back what was reserved', async () => {
    const order = await p.payout();
    await p.refuse(order, 'Limit per day exceeded');
    await handle(changed(order), s.deps);
    expect(await s.state(order)).toMatchObject({ status: 'FAILED', reason: 'Limit per day exceeded' });
    expect(await s.story(order)).toEqual(['ORDER_FAILED FAILED Limit per day exceeded']);
    expect(await p.standsFor(order)).toEqual({});
    expect((await s.told(order))[0]?.data.transaction).toBeNull();
  });

  test('fails by an operator’s veto, in words that every callback can carry', async () => {
    const order = await p.payout();
    await p.refuse(order, 'Refused by <operator> & co/é');
    await handle(changed(order), s.deps);
    expect(await s.state(order)).toMatchObject({ status: 'FAILED', reason: 'Refused by -operator- - co--' });
  });

  test('expires by the database’s clock, whether or not anybody says so', async () => {
    const told = await p.payout({ expires_at: past() });
    const swept = await p.payout({ expires_at: past() });
    const young = await p.payout();
    const waiting = await p.payout({ expires_at: past() });
    await sql`update payout set waiting_since = now() where order_pk = ${waiting.order_pk}`.execute(s.admin);
    await handle(changed(told, young, waiting), s.deps);
    await sweepDue(s.deps);
    for (const order of [told, swept]) {
      expect(await s.story(order)).toEqual(['ORDER_FAILED FAILED Payout expired']);
      expect(await p.standsFor(order)).toEqual({});
    }
    for (const order of [young, waiting]) expect(await s.state(order)).toMatchObject({ status: 'INIT' });
  });

  test('that was signed never expires, however long it is not sent', async () => {
    const order = await p.payout({ expires_at: past() });
    await p.sign(order);
    await handle(changed(order), s.deps);
    await sweepDue(s.deps);
    expect(await s.state(order)).toMatchObject({ status: 'INIT' });
    expect(await s.story(order)).toEqual([]);
  });

  test('that an operator decided to pay again takes no place among those to expire', async () => {
    const order = await p.payout({ expires_at: past() });
    await sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${order.order_pk}`.execute(
      s.admin,
    );
    await anOwnTransaction(s.admin, order, { nonce: null, signed_at: past() });
    expect(await findDuePayouts(s.deps.db, 100)).toEqual([order.order_pk]);
    await sql`insert into payout_decision (decision_id, order_pk, decision, operator, reason)
      values (gen_random_uuid(), ${order.order_pk}, 'PAY_AGAIN', 'test', 'looked')`.execute(s.admin);
    expect(await findDuePayouts(s.deps.db, 100)).toEqual([]);
  });

  test.each([
    ['reverted', { succeeded: false }],
    ['succeeded without a transfer', { delivered: 0n }],
  ])(
    'whose transaction %s fails at final depth alone, pays its fee and has its amount back',
    async (_, result) => {
      const order = await p.payout();
      const transaction = await p.sign(order);
      await p.sent(order);
      await p.fated(transaction, 'MINED', result);
      expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
      await p.fated(transaction, 'VERIFIED', result);
      expect(await s.story(order)).toEqual([
        'ORDER_PENDING PENDING',
        'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
        'ORDER_FAILED FAILED Transaction failed',
      ]);
      expect((await s.told(order)).map((one) => one.data.transaction?.status)).toEqual([
        undefined,
        'PENDING',
        'FAILED',
      ]);
      expect(await p.standsFor(order)).toEqual({ NETWORK_FEE: FEE, HOT_GAS: -FEE });
    },
  );

  test('that a reorganisation takes goes back, also after a revert, and lands when it is mined again', async () => {
    const order = await p.payout();
    const transaction = await p.sign(order);
    await p.sent(order);
    await p.fated(transaction, 'MINED', { succeeded: false });
    await p.fated(transaction, 'ORPHANED');
    expect(await s.state(order)).toMatchObject({ status: 'PENDING', reason: 'Reorganised' });
    await p.fated(transaction, 'MINED');
    await p.fated(transaction, 'VERIFIED');
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING PENDING',
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
      'ORDER_PENDING PENDING Reorganised',
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
      'ORDER_SUCCESS SUCCESS 0.0001',
    ]);
    expect((await s.told(order))[2]?.data.transaction).toBeNull();
    expect(await s.incidents(order)).toEqual([]);
  });

  test('is told step by step also when all steps were missed, and the note that it was sent was lost', async () => {
    const order = await p.payout();
    const transaction = await p.sign(order);
    await p.fate(transaction, 'VERIFIED');
    await sweepFates(s.deps, 3);
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING PENDING',
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
      'ORDER_SUCCESS SUCCESS 0.0001',
    ]);
    expect((await s.told(order))[0]?.data.transaction).toBeNull();
    expect(await p.standsFor(order)).toMatchObject({ PAID_OUT: 100n, HOT_GAS: -FEE });
  });

  test('that was replaced shows and ends by the transaction that landed', async () => {
    const order = await p.payout();
    const first = await p.sign(order);
    await p.sent(order);
    await p.fated(first, 'MINED');
    await p.fated(first, 'ORPHANED');
    const bumped = await anOwnTransaction(s.admin, order, { nonce: first.nonce });
    await p.fated(bumped, 'MINED', { block_height: 108 });
    await p.fated(bumped, 'VERIFIED', { block_height: 108 });
    expect((await s.told(order)).at(-1)?.data.transaction).toMatchObject({
      txid: bumped.tx_hash,
      status: 'SUCCESS',
    });
  });

  test('is not settled before it was reserved', async () => {
    const order = await p.payout();
    await sql`delete from payout where order_pk = ${order.order_pk}`.execute(s.admin);
    await handle(changed(order), s.deps);
    expect(await s.state(order)).toMatchObject({ status: 'INIT' });
  });
});

describe('an incident', () => {
  test('is another amount that arrived: SUCCESS with what it was, and a hold on the asset', async () => {
    const order = await p.payout({ symbol: 'FEE' });
    const transaction = await p.sign(order);
    await p.sent(order);
    await p.fated(transaction, 'VERIFIED', { delivered: 99n });
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 99n });
    expect(await s.incidents(order)).toMatchObject([
      { kind: 'PAYOUT_SHORT', symbol: 'FEE', details: { amountBaseUnits: '100', deliveredBaseUnits: '99' } },
    ]);
    expect(await p.standsFor(order)).toMatchObject({ PAID_OUT: 100n });
    const holds = await s.admin.selectFrom('asset_hold').selectAll().where('symbol', '=', 'FEE').execute();
    expect(holds).toMatchObject([{ chain: 'ETH_SEPOLIA', released_at: null }]);
    await handle(fated(transaction), s.deps);
    expect(await s.incidents(order)).toHaveLength(1);
  });

  test.each([true, false])(
    'is a SUCCESS that is taken back; the merchant hears of it who asked to: %s',
    async (notify) => {
      const merchant = await s.merchant({ notifyReverted: notify });
      const order = await p.payout({ merchant_id: merchant.merchantId });
      const transaction = await p.sign(order);
      await p.sent(order);
      await p.fated(transaction, 'VERIFIED');
      await p.fated(transaction, 'ORPHANED');
      expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', reason: null });
      expect((await s.story(order)).slice(3)).toEqual(
        notify ? ['ORDER_REVERTED SUCCESS Reorganised 0.0001'] : [],
      );
      const taken = { kind: 'PAYOUT_ORPHANED', details: { was: 'PAID_OUT', became: 'IN_FLIGHT' } };
      expect(await s.incidents(order)).toMatchObject([taken]);
      expect(await p.standsFor(order)).toEqual({ ...reservedAt, IN_FLIGHT: 100n });
      await p.fated(transaction, 'VERIFIED');
      expect(await p.standsFor(order)).toMatchObject({ PAID_OUT: 100n, HOT_GAS: -FEE });
      expect(await s.incidents(order)).toHaveLength(1);
      expect((await s.story(order)).slice(3)).toHaveLength(notify ? 1 : 0);
    },
  );

  test('is a failure that was final and pays after all', async () => {
    const order = await p.payout();
    const transaction = await p.sign(order);
    await p.sent(order);
    await p.fated(transaction, 'VERIFIED', { succeeded: false });
    await p.fated(transaction, 'VERIFIED');
    expect(await s.state(order)).toMatchObject({ status: 'FAILED' });
    expect(await s.incidents(order)).toMatchObject([
      { kind: 'PAYOUT_ORPHANED', details: { was: 'RETURNED', became: 'PAID_OUT' } },
    ]);
  });
});

describe('many', () => {
  test('are settled as sets: as many statements for twenty as for one, and one event', async () => {
    const mortal = s.database.open('tracker');
    const counting = createCrashingDatabase(mortal);
    const statementsFor = async (count: number): Promise<number> => {
      const orders = [];
      for (let i = 0; i < count; i += 1) orders.push(await p.payout());
      const transactions = [];
      for (const order of orders) transactions.push(await p.sign(order));
      for (const transaction of transactions) await p.fate(transaction, 'VERIFIED');
      counting.crashAt(Number.POSITIVE_INFINITY);
      await handle(fated(...transactions), s.depsOn(counting.db));
      for (const order of orders) {
        expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
        expect(await s.outbox(order)).toHaveLength(3);
      }
      return counting.passed;
    };
    const events = async () =>
      (
        await s.admin
          .selectFrom('tracker.outbox')
          .select(({ fn }) => fn.countAll<number>().as('n'))
          .execute()
      )[0]?.n ?? 0;
    const forOne = await statementsFor(1);
    const before = await events();
    expect(await statementsFor(20)).toBe(forOne);
    expect((await events()) - before).toBe(1);
    expect(forOne).toBeLessThanOrEqual(2 * 10);
    await mortal.close();
  });

  test('with one among them that can’t be settled go on without it', async () => {
    const good = await p.payout();
    const bad = await p.payout();
    for (const order of [good, bad]) await p.sign(order);
    await sql`alter table notification add constraint for_test check (subject_id <> ${sql.lit(bad.order_pk)}::uuid or sequence = 1)`.execute(
      s.admin,
    );
    try {
      await expect(p.sent(good, bad)).rejects.toThrow();
      expect(await s.state(good)).toMatchObject({ status: 'PENDING' });
      expect(await s.state(bad)).toMatchObject({ status: 'INIT' });
      expect(s.observe.heard.some(({ what }) => what === 'notSettled')).toBe(true);
      await sweepDue(s.deps); // and it is not given up, nor tried without end
    } finally {
      await sql`alter table notification drop constraint for_test`.execute(s.admin);
    }
    await sweepDue(s.deps);
    expect(await s.state(bad)).toMatchObject({ status: 'PENDING' });
  });
});

test('the fee of a transaction that pays nobody is booked', async () => {
  const order = await p.payout({ chain: 'BSC_TEST' });
  await sql`insert into wallet_nonce (chain, wallet, nonce, state, purpose)
    values ('BSC_TEST', ${order.source_address}, 5, 'SIGNED', 'CANCEL')`.execute(s.admin);
  const cancel = await anOwnTransaction(s.admin, order, {
    nonce: 5,
    purpose: 'CANCEL',
    order_pk: null,
    contract_address: null,
    to_address: order.source_address ?? '',
    amount: 0n,
  });
  await p.fate(cancel, 'VERIFIED', { delivered: 0n, network_fee: 21n });
  const gas = async () =>
    (
      await sql<{
        balance: bigint;
      }>`select balance from ledger_account where kind = 'HOT_GAS' and chain = 'BSC_TEST'`.execute(s.admin)
    ).rows[0]?.balance;
  await sweepFates(s.deps, 3); // in pages
  expect(await gas()).toBe(-21n);
  await p.fated(cancel, 'ORPHANED');
  expect(await gas()).toBe(0n);
  await handle(fated(cancel), s.deps);
  await p.fated(cancel, 'VERIFIED', { delivered: 0n, network_fee: 22n });
  expect(await gas()).toBe(-22n);
});
