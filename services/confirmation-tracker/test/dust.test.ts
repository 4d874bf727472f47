import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { aTransfer, type OrderRow, type TransferRow } from '@opentill/testkit/scenario';
import { settleTransfers, type HandlerDeps } from '../src/handlers/settle-event.ts';
import { settleOrders } from '../src/settle-orders.ts';
import { ordersOfTransfers } from '../src/store/lock-orders.ts';
import { at, createTrackerScenario, sweepDue, TTL, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
beforeAll(async () => {
  s = await createTrackerScenario();
});
beforeEach(() => s.chainAt(110, 200));
afterAll(() => s.close());

/** One base unit each, as after many events. */
async function settledDust(db: Db, order: OrderRow, count: number, atSecond: number): Promise<void> {
  await sql`
    with made as (
      insert into transfer (chain, family, tx_hash, position, contract_address, symbol, from_address, to_address, amount,
        block_height, block_hash, block_time, first_block_time, state)
      select ${order.chain}, ${order.family}, ${order.order_pk} || n, 'log:0', ${order.contract_address}, ${order.symbol}, '0xf0', ${order.address},
        1, 50, '0xb10c', ${at(atSecond)}, ${at(atSecond)}, 'DETECTED' from generate_series(1, ${count}::int) n
      returning transfer_id
    )
    insert into transfer_settlement (transfer_id, settled_version, order_pk) select transfer_id, 1, ${order.order_pk} from made`.execute(
    db,
  );
}

class Undo extends Error {}

/** From the transfer tables, to settle one more transfer when `there` exist. */
async function rowsRead(status: 'PENDING' | 'EXPIRED' | 'FAILED', there: number): Promise<number> {
  const isLate = status !== 'PENDING';
  let read = Number.NaN;
  const attempt = s.admin.transaction().execute(async (tx) => {
    const order = await s.order({ amount: 1_000_000n, status, detected_amount: isLate ? 0n : BigInt(there) });
    await settledDust(tx, order, there, isLate ? TTL + 60 : 60);
    const time = at(isLate ? TTL + 90 : 90);
    const came = { block_time: time, first_block_time: time };
    const one = await aTransfer(tx, order, { amount: 7n, state: 'VERIFIED', ...came });
    await sql`analyze transfer, transfer_settlement, unmatched_deposit`.execute(tx);
    await sql`set local enable_seqscan = off`.execute(tx); // tables are small in this test
    const readSoFar = async () => {
      const { rows } = await sql<{ read: number }>`
        select sum(coalesce(idx_tup_fetch, 0) + seq_tup_read)::int8 as read from pg_stat_xact_user_tables
        where relname in ('transfer', 'transfer_settlement', 'unmatched_deposit', 'collection_height_sum')`.execute(
        tx,
      );
      return rows[0]!.read;
    };
    const before = await readSoFar();
    const [settled] = await settleOrders(tx, s.deps, ordersOfTransfers([one.transfer_id]));
    expect(settled?.settlements).toHaveLength(1);
    read = (await readSoFar()) - before;
    throw new Undo();
  });
  await expect(attempt).rejects.toBeInstanceOf(Undo);
  return read;
}

test.each(['PENDING', 'EXPIRED', 'FAILED'] as const)(
  'settles one more transfer to a %s order without reading the 2,000 there',
  async (status) => {
    expect(await rowsRead(status, 2_000)).toBeLessThan(100);
  },
);

/** The minimum of every token is 10 base units. */
function withMinimum(now = at(0)): HandlerDeps {
  return { ...s.deps, dustBelow: () => 10n, clock: { now: () => now } };
}

async function settle(deps: HandlerDeps, ...transfers: readonly TransferRow[]): Promise<void> {
  await settleTransfers(
    deps,
    transfers.map((transfer) => transfer.transfer_id),
  );
}

describe('transfer below the minimum of its token', () => {
  test('books a transfer below the minimum without moving its order or a callback', async () => {
    const { merchantId } = await s.merchant();
    const order = await s.order({ merchant_id: merchantId, symbol: 'DUST' });
    await settle(withMinimum(), await s.transfer(order, 9n, { state: 'VERIFIED' }));
    expect(await s.state(order)).toMatchObject({ status: 'INIT', detected: 0n });
    expect(await s.balances(merchantId, 'ETH_SEPOLIA', 'DUST')).toEqual({ DEPOSIT: 9n, SUSPENSE: -9n });
    expect(await s.callbacks(order)).toEqual([]);
    await settle(withMinimum(), await s.transfer(order, 10n, { state: 'VERIFIED' }));
    expect(await s.state(order)).toMatchObject({ status: 'PENDING', detected: 19n, actual: 19n });
  });

  test('leaves dust to an EXPIRED order unmatched and reports it with the next payment', async () => {
    const order = await s.order({ expires_at: at(30) });
    await sweepDue(withMinimum());
    const dust = await s.transfer(order, 9n, { state: 'VERIFIED' });
    await settle(withMinimum(), dust);
    expect(await s.unmatched(dust)).toBe('LATE');
    expect(await s.story(order)).toEqual(['ORDER_EXPIRED EXPIRED Not paid']);
    await settle(withMinimum(), await s.transfer(order, 20n, { state: 'VERIFIED' }));
    expect((await s.story(order)).slice(1)).toEqual(['ORDER_EXPIRED EXPIRED Paid after expiry 0.000029']);
  });

  test('completes an order that lacks only dust, and credits it once', async () => {
    const { merchantId } = await s.merchant();
    const order = await s.order({ merchant_id: merchantId, symbol: 'LAST' });
    await settle(withMinimum(), await s.transfer(order, 95n, { state: 'VERIFIED' }));
    const last = await s.transfer(order, 5n);
    await settle(withMinimum(), last);
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION', detected: 100n });
    await settle(withMinimum(), await s.verify(last));
    await settle(withMinimum(), last);
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
    expect(await s.balances(merchantId, 'ETH_SEPOLIA', 'LAST')).toEqual({
      DEPOSIT: 100n,
      SUSPENSE: 0n,
      MERCHANT: -100n,
    });
  });
});

test('sends at most one late-payment callback a minute, which carries the sum', async () => {
  const order = await s.order({ expires_at: at(30) });
  const late = async (amount: bigint, second: number) => {
    await settle(withMinimum(at(second)), await s.transfer(order, amount, { state: 'VERIFIED' }));
    await sweepDue(withMinimum(at(second)));
    return (await s.story(order)).slice(1).map((line) => line.split(' ').at(-1));
  };
  await sweepDue(withMinimum());
  expect(await late(20n, 100)).toEqual(['0.00002']);
  expect(await late(30n, 110)).toEqual(['0.00002']);
  expect(await late(40n, 159)).toEqual(['0.00002']);
  expect(await s.state(order)).toMatchObject({ actual: 90n });
  await sweepDue(withMinimum(at(160)));
  await sweepDue(withMinimum(at(300)));
  expect((await s.story(order)).slice(2)).toEqual(['ORDER_EXPIRED EXPIRED Paid after expiry 0.00009']);
  expect(await late(10n, 301)).toHaveLength(3);
});

test('credits each of many small transfers exactly once', async () => {
  const { merchantId } = await s.merchant();
  const own = { merchant_id: merchantId, symbol: 'MANY', confirmations_required: 6 };
  const order = await s.order(own);
  const parts: TransferRow[] = [];
  for (let i = 0; i < 5; i += 1) parts.push(await s.transfer(order, 20n, { block_height: 102 + i }));
  await settle(s.deps, ...parts);
  for (const part of parts) await s.verify(part);
  // All but the last are deep enough. The first is not booked yet.
  await settle(s.deps, ...parts.slice(1));
  expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION', actual: 80n });
  await s.chainAt(112, 210);
  await sweepDue(s.deps);
  await settle(s.deps, ...parts);
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  expect(await s.balances(merchantId, 'ETH_SEPOLIA', 'MANY')).toEqual({
    DEPOSIT: 100n,
    SUSPENSE: 0n,
    MERCHANT: -100n,
  });
  expect(await s.refs(order)).toHaveLength(6);
});

test('credits no amount when the stored sums exceed the transfers', async () => {
  const { merchantId } = await s.merchant();
  const order = await s.order({ merchant_id: merchantId, symbol: 'DRIFT' });
  const paid = await s.transfer(order, 99n, { state: 'VERIFIED' });
  await sql`update collection_sum set in_time = 100, verified_in_time = 100 where order_pk = ${order.order_pk}`.execute(
    s.admin,
  );
  await expect(settle(s.deps, paid)).rejects.toMatchObject({ code: 'COLLECTION_SUMS_DIFFER' });
  expect(await s.state(order)).toMatchObject({ status: 'INIT' });
  await sql`select recount_collection(${order.order_pk})`.execute(s.admin);
  await settle(s.deps, paid);
  expect(await s.state(order)).toMatchObject({ status: 'PENDING', actual: 99n });
});
