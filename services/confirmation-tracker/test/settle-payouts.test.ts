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

describe('payout settlement', () => {
  test('moves a payout to SUCCESS with its callbacks and ledger entries', async () => {
    const order = await p.payout();
    const transaction = await p.sign(order);
    await handle(changed(order), s.deps); // signed but not sent: no callback
    expect(await s.state(order)).toMatchObject({ status: 'INIT' });
    expect(await p.postingsOf(order)).toEqual({ ...reservedAt, HOT_RESERVED: 100n });

    await p.sent(order);
    expect(await s.state(order)).toEqual({ status: 'PENDING', reason: null, detected: 0n, actual: null });
    expect(await p.postingsOf(order)).toEqual({ ...reservedAt, IN_FLIGHT: 100n });

    await p.fated(transaction, 'MINED', { block_height: 109 });
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
    await p.fated(transaction, 'VERIFIED', { block_height: 109 });
    expect(await s.state(order)).toEqual({ status: 'SUCCESS', reason: null, detected: 0n, actual: 100n });
    expect(await p.postingsOf(order)).toEqual({
      ...reservedAt,
      PAID_OUT: 100n,
      NETWORK_FEE: FEE,
      HOT_GAS: -FEE,
    });

    const callbacks = await s.callbacks(order);
    expect(callbacks.map((one) => one.sequence)).toEqual([2, 3, 4]);
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
    expect(callbacks.map((one) => one.data.transaction)).toEqual([
      null,
      { ...transactionShown, status: 'PENDING' },
      { ...transactionShown, status: 'SUCCESS' },
    ]);
    expect(callbacks.at(-1)?.data).toMatchObject({ orderType: 'PAYOUT', amount: '0.0001', fee: '0' });
    expect(await s.outbox(order)).toHaveLength(3);
    expect(await s.incidents(order)).toEqual([]);
  });

  test("fails a payout with the policy's reason and releases its amount", async () => {
    const order = await p.payout();
    await p.refuse(order, 'Limit per day exceeded');
    await handle(changed(order), s.deps);
    expect(await s.state(order)).toMatchObject({ status: 'FAILED', reason: 'Limit per day exceeded' });
    expect(await s.story(order)).toEqual(['ORDER_FAILED FAILED Limit per day exceeded']);
    expect(await p.postingsOf(order)).toEqual({});
    expect((await s.callbacks(order))[0]?.data.transaction).toBeNull();
  });

  test("fails a payout by an operator's veto with a portable reason", async () => {
    const order = await p.payout();
    await p.refuse(order, 'Refused by <operator> & co/é');
    await handle(changed(order), s.deps);
    expect(await s.state(order)).toMatchObject({ status: 'FAILED', reason: 'Refused by -operator- - co--' });
  });

  test("expires payouts by the database's clock, with or without an event", async () => {
    const notified = await p.payout({ expires_at: past() });
    const swept = await p.payout({ expires_at: past() });
    const young = await p.payout();
    const waiting = await p.payout({ expires_at: past() });
    await sql`update payout set waiting_since = now() where order_pk = ${waiting.order_pk}`.execute(s.admin);
    await handle(changed(notified, young, waiting), s.deps);
    await sweepDue(s.deps);
    for (const order of [notified, swept]) {
      expect(await s.story(order)).toEqual(['ORDER_FAILED FAILED Payout expired']);
      expect(await p.postingsOf(order)).toEqual({});
    }
    for (const order of [young, waiting]) expect(await s.state(order)).toMatchObject({ status: 'INIT' });
  });

  test('never expires a signed payout that is not sent', async () => {
    const order = await p.payout({ expires_at: past() });
    await p.sign(order);
    await handle(changed(order), s.deps);
    await sweepDue(s.deps);
    expect(await s.state(order)).toMatchObject({ status: 'INIT' });
    expect(await s.story(order)).toEqual([]);
  });

  test('excludes a payout decided as PAY_AGAIN from the due payouts', async () => {
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
    'fails a payout whose transaction %s at final depth, books fee and returns amount',
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
      expect((await s.callbacks(order)).map((one) => one.data.transaction?.status)).toEqual([
        undefined,
        'PENDING',
        'FAILED',
      ]);
      expect(await p.postingsOf(order)).toEqual({ NETWORK_FEE: FEE, HOT_GAS: -FEE });
    },
  );

  test('moves a reorganised payout back and settles it when it lands', async () => {
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
    expect((await s.callbacks(order))[2]?.data.transaction).toBeNull();
    expect(await s.incidents(order)).toEqual([]);
  });

  test('sends every callback when all steps and the sent note were missed', async () => {
    const order = await p.payout();
    const transaction = await p.sign(order);
    await p.fate(transaction, 'VERIFIED');
    await sweepFates(s.deps, 3);
    expect(await s.story(order)).toEqual([
      'ORDER_PENDING PENDING',
      'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
      'ORDER_SUCCESS SUCCESS 0.0001',
    ]);
    expect((await s.callbacks(order))[0]?.data.transaction).toBeNull();
    expect(await p.postingsOf(order)).toMatchObject({ PAID_OUT: 100n, HOT_GAS: -FEE });
  });

  test('shows the transaction that landed after a replacement', async () => {
    const order = await p.payout();
    const first = await p.sign(order);
    await p.sent(order);
    await p.fated(first, 'MINED');
    await p.fated(first, 'ORPHANED');
    const bumped = await anOwnTransaction(s.admin, order, { nonce: first.nonce });
    await p.fated(bumped, 'MINED', { block_height: 108 });
    await p.fated(bumped, 'VERIFIED', { block_height: 108 });
    expect((await s.callbacks(order)).at(-1)?.data.transaction).toMatchObject({
      txid: bumped.tx_hash,
      status: 'SUCCESS',
    });
  });

  test('does not settle a payout before it is reserved', async () => {
    const order = await p.payout();
    await sql`delete from payout where order_pk = ${order.order_pk}`.execute(s.admin);
    await handle(changed(order), s.deps);
    expect(await s.state(order)).toMatchObject({ status: 'INIT' });
  });
});

describe('payout incident', () => {
  test('opens an incident with a hold when a different amount arrived', async () => {
    const order = await p.payout({ symbol: 'FEE' });
    const transaction = await p.sign(order);
    await p.sent(order);
    await p.fated(transaction, 'VERIFIED', { delivered: 99n });
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 99n });
    expect(await s.incidents(order)).toMatchObject([
      { kind: 'PAYOUT_SHORT', symbol: 'FEE', details: { amountBaseUnits: '100', deliveredBaseUnits: '99' } },
    ]);
    expect(await p.postingsOf(order)).toMatchObject({ PAID_OUT: 100n });
    const holds = await s.admin.selectFrom('asset_hold').selectAll().where('symbol', '=', 'FEE').execute();
    expect(holds).toMatchObject([{ chain: 'ETH_SEPOLIA', released_at: null }]);
    await handle(fated(transaction), s.deps);
    expect(await s.incidents(order)).toHaveLength(1);
  });

  test.each([true, false])(
    'opens an incident for an orphaned SUCCESS; ORDER_REVERTED enabled: %s',
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
      expect(await p.postingsOf(order)).toEqual({ ...reservedAt, IN_FLIGHT: 100n });
      await p.fated(transaction, 'VERIFIED');
      expect(await p.postingsOf(order)).toMatchObject({ PAID_OUT: 100n, HOT_GAS: -FEE });
      expect(await s.incidents(order)).toHaveLength(1);
      expect((await s.story(order)).slice(3)).toHaveLength(notify ? 1 : 0);
    },
  );

  test('opens an incident when a payout pays after its final failure', async () => {
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

describe('batch of payouts', () => {
  test('settles twenty payouts with as many statements as one, and one event', async () => {
    const crashDatabase = s.database.open('tracker');
    const counting = createCrashingDatabase(crashDatabase);
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
    await crashDatabase.close();
  });

  test('settles the others when one payout of a batch fails', async () => {
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
      expect(s.observe.calls.some(({ what }) => what === 'notSettled')).toBe(true);
      await sweepDue(s.deps); // the failing payout is kept, and not retried in an endless loop
    } finally {
      await sql`alter table notification drop constraint for_test`.execute(s.admin);
    }
    await sweepDue(s.deps);
    expect(await s.state(bad)).toMatchObject({ status: 'PENDING' });
  });
});

test('books the fee of a cancel transaction', async () => {
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
