import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { Address } from '@opentill/chain/address-codec';
import type { MovementKind } from '@opentill/db/sweep-tables';
import { sign } from '@opentill/testkit/payout-scenario';
import type { OrderRow } from '@opentill/testkit/scenario';
import { changed, payoutsOn, sweepDue, type Payouts } from './payout-scenario.ts';
import { CHAIN, createTrackerScenario, handle, type TrackerScenario } from './tracker-scenario.ts';

// Merchants are notified of sweeps of their money (sent, result) and of refunds of their deposits. All other movements
// have no callbacks.

const HOT = '0x00000000000000000000000000000000000000aa';
const COLD = '0x00000000000000000000000000000000000000cc';
const FEE = 63_000_000_000_000n;
const show = (address: string) => evmAddressCodec.format(address as Address);

let s: TrackerScenario;
let p: Payouts;
beforeAll(async () => {
  s = await createTrackerScenario();
  p = payoutsOn(s);
  await s.chainAt(110, 200);
  await sql`insert into chain_family (chain, family) values (${CHAIN}, 'EVM') on conflict do nothing`.execute(
    s.admin,
  );
  await sql`insert into hot_wallet (family, address) values ('EVM', ${HOT}) on conflict do nothing`.execute(
    s.admin,
  );
});
afterAll(async () => {
  await p.checkBooks();
  await s.close();
});

/** 100, verified. */
async function paid(overrides: Parameters<TrackerScenario['order']>[0] = {}): Promise<OrderRow> {
  const order = await s.order(overrides);
  await s.verified(await s.verify(await s.transfer(order, 100n)));
  return order;
}

/** In the sweep of `order`'s payment. */
async function move(kind: MovementKind, order: OrderRow, sweepId = randomUUID()): Promise<OrderRow> {
  const isSweep = kind === 'SWEEP';
  const orderPk = randomUUID();
  await s.admin
    .insertInto('sweep')
    .values({
      sweep_id: sweepId,
      chain: CHAIN,
      family: 'EVM',
      address: order.address,
      symbol: order.symbol,
      contract_address: order.contract_address,
      amount: 100n,
      destination: COLD,
      destination_kind: 'COLD',
      method: 'TOP_UP',
      cost_estimate: 1n,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const movement = {
    orderPk,
    kind,
    sweepId,
    chain: CHAIN,
    symbol: isSweep ? order.symbol : 'ETH',
    contract: isSweep ? order.contract_address : null,
    decimals: isSweep ? 6 : 18,
    displayDecimals: isSweep ? 2 : 6,
    amount: '100',
    wallet: isSweep ? order.address : HOT,
    receiver: isSweep ? COLD : order.address,
    seconds: 3_600,
  };
  await sql`select plan_movement(${JSON.stringify(movement)}::jsonb)`.execute(s.admin);
  return s.admin
    .selectFrom('orders')
    .selectAll()
    .$narrowType<{ address: string }>()
    .where('order_pk', '=', orderPk)
    .executeTakeFirstOrThrow();
}

async function callbacks(order: OrderRow) {
  const rows = await s.admin
    .selectFrom('notification')
    .select(['merchant_id', 'sequence', 'notify_type', 'data'])
    .where('subject_id', '=', order.order_pk)
    .orderBy('sequence')
    .execute();
  return rows.map(({ data, ...row }) => ({ ...row, data: JSON.parse(data) as unknown }));
}
const types = async (order: OrderRow) => (await callbacks(order)).map(({ notify_type }) => notify_type);

describe('sweep callbacks', () => {
  test('notifies the merchant when a sweep is sent and when it is verified', async () => {
    const order = await paid();
    const sweep = await move('SWEEP', order);
    const transaction = await p.sign(sweep);
    await handle(changed(sweep), s.deps);
    expect(await callbacks(sweep)).toEqual([]);
    await p.sent(sweep);
    await p.fated(transaction, 'MINED', { block_height: 109 });
    await p.fated(transaction, 'VERIFIED', { block_height: 109 });
    const collect = { collectAmount: '0.0001', fee: '0', feeRatio: '0', reason: null };
    expect(await callbacks(sweep)).toEqual([
      {
        merchant_id: order.merchant_id,
        sequence: 1,
        notify_type: 'COLLECT_PENDING',
        data: { ...collect, transaction: null },
      },
      {
        merchant_id: order.merchant_id,
        sequence: 2,
        notify_type: 'COLLECT_SUCCESS',
        data: {
          ...collect,
          transaction: {
            chain: CHAIN,
            symbol: 'USDT',
            contractAddress: show(order.contract_address ?? ''),
            decimals: 6,
            txid: transaction.tx_hash,
            from: show(order.address),
            to: show(COLD),
            amount: '0.0001',
            blockNum: 109,
            confirmedNum: 2,
            status: 'SUCCESS',
            timestamp: expect.any(Number),
            txGas: '0.000063',
          },
        },
      },
    ]);
    expect(await p.postingsOf(sweep)).toEqual({
      DEPOSIT: -100n,
      COLD: 100n,
      NETWORK_FEE: FEE,
      DEPOSIT_GAS: -FEE,
    });
    expect(await s.outbox(sweep)).toHaveLength(2);
    await handle(changed(sweep), s.deps);
    expect(await types(sweep)).toHaveLength(2);
  });

  test('reports a sweep that moved no money as failed and releases its amount', async () => {
    const order = await paid();
    const sweep = await move('SWEEP', order);
    const transaction = await p.sign(sweep);
    await p.sent(sweep);
    // The transaction succeeded, but its receipt contains no transfer of the token.
    await p.fated(transaction, 'VERIFIED', { block_height: 109, delivered: 0n });
    expect(
      (await callbacks(sweep)).map(({ notify_type, data }) => [
        notify_type,
        (data as { reason: unknown }).reason,
      ]),
    ).toEqual([
      ['COLLECT_PENDING', null],
      ['COLLECT_FAILED', 'Transaction failed'],
    ]);
    const { rows } =
      await sql`select received, reserved, swept from deposit_balance where address = ${order.address}`.execute(
        s.admin,
      );
    expect(rows).toEqual([{ received: 100n, reserved: 0n, swept: 0n }]);
  });

  test('reports a reorganised sweep once', async () => {
    const sweep = await move('SWEEP', await paid());
    const transaction = await p.sign(sweep);
    await p.sent(sweep);
    await p.fated(transaction, 'MINED', { block_height: 109 });
    await p.fated(transaction, 'ORPHANED');
    await p.fated(transaction, 'VERIFIED', { block_height: 110 });
    expect(await types(sweep)).toEqual(['COLLECT_PENDING', 'COLLECT_SUCCESS']);
  });

  test('sends no callback for a sweep that was never sent', async () => {
    const sweep = await move('SWEEP', await paid());
    await sql`update payout set expires_at = now() - interval '1 second' where order_pk = ${sweep.order_pk}`.execute(
      s.admin,
    );
    await sql`update orders set expires_at = now() - interval '1 second' where order_pk = ${sweep.order_pk}`.execute(
      s.admin,
    );
    await sweepDue(s.deps);
    expect(await s.state(sweep)).toMatchObject({ status: 'FAILED' });
    expect(await callbacks(sweep)).toEqual([]);
  });

  test('opens an incident when less arrived than was swept', async () => {
    const sweep = await move('SWEEP', await paid());
    const transaction = await sign(s.admin, sweep);
    await p.sent(sweep);
    await p.fated(transaction, 'VERIFIED', { block_height: 109, delivered: 99n });
    expect((await s.incidents(sweep)).map(({ kind, details }) => [kind, details['movement']])).toEqual([
      ['PAYOUT_SHORT', 'SWEEP'],
    ]);
  });
});

test('books coin for a fee without callbacks', async () => {
  const order = await paid();
  const topUp = await move('GAS_TOP_UP', order);
  await p.fated(await p.sign(topUp), 'VERIFIED', { block_height: 109 });
  expect(await s.state(topUp)).toMatchObject({ status: 'SUCCESS' });
  expect(await callbacks(topUp)).toEqual([]);
  expect(await p.postingsOf(topUp)).toEqual({ HOT_GAS: -100n - FEE, DEPOSIT_GAS: 100n, NETWORK_FEE: FEE });
});

test('reports a refunded deposit like a payout', async () => {
  const order = await s.order();
  const deposit = await s.verify(await s.transfer(order, 100n, { atSecond: 5_000 }));
  await s.chainAt(110, 5_000);
  await s.verified(deposit);
  await sql`select book_top_up(${`${CHAIN}:0x1:${order.symbol}`}, ${CHAIN}, ${order.symbol}, 1000)`.execute(
    s.admin,
  );
  const refund = {
    orderPk: randomUUID(),
    transferId: deposit.transfer_id,
    chain: CHAIN,
    symbol: order.symbol,
    contract: order.contract_address,
    decimals: 6,
    displayDecimals: 2,
    amount: '100',
    wallet: HOT,
    receiver: COLD,
    seconds: 3_600,
    plannedBy: 'anna',
  };
  await sql`select refund_deposit(${JSON.stringify(refund)}::jsonb)`.execute(s.admin);
  const given = await s.admin
    .selectFrom('orders')
    .selectAll()
    .$narrowType<{ address: string }>()
    .where('order_pk', '=', refund.orderPk)
    .executeTakeFirstOrThrow();
  await p.fated(await p.sign(given), 'VERIFIED', { block_height: 109 });
  expect(await types(given)).toEqual(['ORDER_PENDING', 'ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS']);
  expect(await p.postingsOf(given)).toMatchObject({ HOT_AVAILABLE: -100n, REFUNDED: 100n });
});
