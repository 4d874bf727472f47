import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { anEvmAddress, type OrderRow } from '@opentill/testkit/scenario';
import { settleOrders } from '../src/settle-orders.ts';
import { settleTransfers } from '../src/handlers/settle-event.ts';
import { findDueOrders } from '../src/store/find-unsettled.ts';
import { ordersByKey } from '../src/store/lock-orders.ts';
import { sweepDueOrders } from '../src/sweep-due-orders.ts';
import { createTransferSweep } from '../src/sweep-transfers.ts';
import { at, createTrackerScenario, T0, TTL, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
beforeAll(async () => {
  s = await createTrackerScenario();
});
afterAll(() => s.close());

const running = new AbortController().signal;
const eager = { pageSize: 100, graceMs: 0, lookBackMs: 300_000, from: 'beginning' as const };

async function sweepAll(sweep: (signal: AbortSignal) => Promise<void | 'again'>): Promise<number> {
  let rounds = 1;
  while ((await sweep(running)) === 'again') rounds += 1;
  return rounds;
}

describe('sweep over transfers', () => {
  beforeEach(() => {
    s.observe.calls.length = 0;
  });

  test('settles all transfers when every event is lost', async () => {
    await s.chainAt(110, 200);
    const sweep = createTransferSweep(s.deps, eager);
    const orders = await Promise.all([s.order(), s.order(), s.order()]);
    const transfers = await Promise.all(orders.map((order) => s.transfer(order, 100n)));
    await sweepAll(sweep);
    for (const order of orders)
      expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
    for (const transfer of transfers) await s.verify(transfer);
    await sweepAll(sweep);
    for (const order of orders) expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
    expect(s.observe.calls.filter((h) => h.what === 'transfersSwept').map((h) => h.detail)).toEqual([3, 3]);
    await sweepAll(sweep);
    expect(s.observe.calls.at(-1)).toEqual({ what: 'transfersSwept', detail: 0 });
  });

  test('reads the whole table in pages, including old rows', async () => {
    const order = await s.order();
    const old = await s.transfer(order, 100n, { updated_at: new Date(0) });
    for (let i = 0; i < 25; i += 1) await s.transfer(await s.order(), 1n, { updated_at: new Date(1_000) });
    const rounds = await sweepAll(createTransferSweep(s.deps, { ...eager, pageSize: 10 }));
    expect(rounds).toBeGreaterThanOrEqual(3);
    expect(await s.settlement(old)).toMatchObject({ version: 1 });
    const { rows } = await sql<{ left: number }>`
      select count(*) as left from transfer left join transfer_settlement using (transfer_id) where settled_version is null`.execute(
      s.admin,
    );
    expect(rows).toEqual([{ left: 0 }]);
  });

  test('goes back only by the look-back after the first sweep', async () => {
    const sweep = createTransferSweep(s.deps, { ...eager, lookBackMs: 1_800_000 });
    await sweepAll(sweep);
    const hour = await s.transfer(await s.order(), 1n, { updated_at: new Date(Date.now() - 3_600_000) });
    const recent = await s.transfer(await s.order(), 1n, { updated_at: new Date(Date.now() - 30_000) });
    await sweepAll(sweep);
    expect(await s.settlement(recent)).toMatchObject({ version: 1 });
    expect(await s.settlement(hour)).toBeUndefined();
    await sweepAll(createTransferSweep(s.deps, eager));
    expect(await s.settlement(hour)).toMatchObject({ version: 1 });
  });

  test('starts from now and goes back only by the look-back', async () => {
    const before = await s.transfer(await s.order(), 1n);
    const sweep = createTransferSweep(s.deps, { ...eager, from: 'now', lookBackMs: 1_800_000 });
    expect(await sweepAll(sweep)).toBe(1);
    expect(await s.settlement(before)).toBeUndefined();
    const recent = await s.transfer(await s.order(), 1n);
    const committedLate = await s.transfer(await s.order(), 1n, {
      updated_at: new Date(Date.now() - 10_000),
    });
    const old = await s.transfer(await s.order(), 1n, { updated_at: new Date(Date.now() - 3_600_000) });
    await sweepAll(sweep);
    expect(await s.settlement(recent)).toMatchObject({ version: 1 });
    expect(await s.settlement(committedLate)).toMatchObject({ version: 1 });
    expect(await s.settlement(old)).toBeUndefined();
    await sweepAll(createTransferSweep(s.deps, eager));
    expect(await s.settlement(old)).toMatchObject({ version: 1 });
  });

  test('leaves fresh transfers to their events', async () => {
    const fresh = await s.transfer(await s.order(), 1n);
    await sweepAll(createTransferSweep(s.deps, { ...eager, graceMs: 3_600_000 }));
    expect(await s.settlement(fresh)).toBeUndefined();
  });

  test('continues past a transfer that cannot be settled', async () => {
    const bad = await s.verify(await s.transfer(await s.order({ symbol: 'BAD' }), 100n));
    await sql`
      with t as (insert into ledger_transaction (ref, kind) values (${`deposit:${bad.transfer_id}:1`}, 'TOP_UP') returning ledger_tx_id)
      insert into ledger_posting
      select ledger_tx_id, ledger_account_for('HOT_AVAILABLE', 'ETH_SEPOLIA', 'BAD', null), 1 from t union all
      select ledger_tx_id, ledger_account_for('OWNER', 'ETH_SEPOLIA', 'BAD', null), -1 from t`.execute(
      s.admin,
    );
    const good = await s.transfer(await s.order(), 100n);
    await sweepAll(createTransferSweep(s.deps, eager));
    expect(await s.settlement(good)).toMatchObject({ version: 1 });
    expect(await s.settlement(bad)).toBeUndefined();
    expect(s.observe.calls.filter((h) => h.what === 'notSettled').map((h) => h.detail)).toEqual([
      { transferId: bad.transfer_id },
    ]);
  });

  test('stops between batches on abort and continues from there', async () => {
    const stopped = new AbortController();
    stopped.abort();
    const left = await s.transfer(await s.order(), 1n);
    const sweep = createTransferSweep(s.deps, eager);
    expect(await sweep(stopped.signal)).toBeUndefined();
    expect(await s.settlement(left)).toBeUndefined();
    await sweepAll(sweep);
    expect(await s.settlement(left)).toMatchObject({ version: 1 });
  });
});

describe('sweep over due orders', () => {
  test('skips an order that another transaction has locked, and settles it later', async () => {
    const order = await s.order({ chain: 'BSC_TEST' });
    await s.chainAt(500, TTL + 1, 'BSC_TEST');
    await s.admin.transaction().execute(async (tx) => {
      await sql`select from orders where order_pk = ${order.order_pk} for update`.execute(tx);
      await sweepDueOrders(s.deps);
      expect(await s.state(order)).toMatchObject({ status: 'INIT' });
    });
    await sweepDueOrders(s.deps);
    expect(await s.state(order)).toMatchObject({ status: 'EXPIRED' });
  });

  test('expires each order once in concurrent sweeps', async () => {
    const merchant = await s.merchant();
    const orders = await Promise.all(
      Array.from({ length: 40 }, () => s.order({ chain: 'BSC_TEST', merchant_id: merchant.merchantId })),
    );
    await s.chainAt(500, TTL + 1, 'BSC_TEST');
    const drain = async () => {
      while ((await sweepDueOrders(s.deps, { limit: 7 })) === 'again');
    };
    await Promise.all([drain(), drain(), drain()]);
    await drain();
    for (const order of orders) expect(await s.story(order)).toEqual(['ORDER_EXPIRED EXPIRED Not paid']);
  });

  test('never expires an order whose payment is committed with the time that is due', async () => {
    const orders: OrderRow[] = [];
    for (let i = 0; i < 60; i += 1) {
      orders.push(await s.order({ chain: 'BSC_TEST', expires_at: at(TTL + i * 10) }));
    }
    await s.chainAt(1_000, 0, 'BSC_TEST');
    let scanning = true;
    const scan = async () => {
      for (const [i, order] of orders.entries()) {
        await s.admin.transaction().execute(async (tx) => {
          const second = TTL + i * 10;
          await sql`
            insert into transfer (chain, family, tx_hash, position, contract_address, symbol, from_address, to_address, amount,
              block_height, block_hash, block_time, first_block_time, state)
            values ('BSC_TEST', 'EVM', ${`race-${i}`}, 'log:0', ${order.contract_address}, 'USDT', ${anEvmAddress()}, ${order.address}, 100,
              ${1_000 + i}, '0x0', ${at(second)}, ${at(second)}, 'VERIFIED')`.execute(tx);
          await sql`
            update chain_cursor set verified_time = ${at(second + 1)}, head_height = ${1_010 + i},
              seen_height = ${1_010 + i}, verified_height = ${1_000 + i} where chain = 'BSC_TEST'`.execute(
            tx,
          );
        });
      }
      scanning = false;
    };
    const sweep = async () => {
      while (scanning) await sweepDueOrders(s.deps);
    };
    await Promise.all([scan(), sweep(), sweep()]);
    await s.sweepDue();
    for (const order of orders) {
      expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
      expect((await s.story(order)).some((line) => line.startsWith('ORDER_EXPIRED'))).toBe(false);
    }
  });

  test('uses an index when no order is due', async () => {
    const plan = await s.admin.transaction().execute(async (tx) => {
      // The cost of scanning a table of a hundred rows depends on when it was last analysed.
      await sql`set local enable_seqscan = off`.execute(tx);
      return sql<{ 'QUERY PLAN': string }>`
        explain select o.order_pk from chain_cursor c cross join lateral (
          select o.order_pk from orders o
          where o.chain = c.chain and o.order_type = 'COLLECTION' and o.status in ('INIT', 'PENDING')
            and o.cutoff_at < c.verified_time order by o.cutoff_at limit 500) o`.execute(tx);
    });
    expect(plan.rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('orders_open_cutoff');
  });

  test('reads no order that is past expiry but within its grace', async () => {
    await s.chainAt(110, 5_000); // later than in any earlier test
    await sweepAll(() => sweepDueOrders(s.deps));
    const dueBefore = await findDueOrders(s.admin, 500, { ...s.deps, now: new Date() }); // orders that earlier tests made impossible to settle
    const undo = new Error('undo');
    let read = Number.NaN;
    // Rolled back: other sessions report statistics late, and deleting so many rows takes long.
    const attempt = s.admin.transaction().execute(async (tx) => {
      await sql`insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, decimals,
          display_decimals, amount, accepted_amount, address, late_grace_seconds, created_at, expires_at)
        select gen_random_uuid(), (select merchant_id from merchant limit 1), 'grace-' || n, 'COLLECTION', chain, family,
          'USDT', 6, 2, 1, 1, '0x' || n, 604800, verified_time - interval '1 day', verified_time - n % 1_000 * interval '1 second'
        from chain_cursor, generate_series(1, 5_000) n where chain = 'ETH_SEPOLIA'`.execute(tx);
      await sql`analyze orders`.execute(tx);
      const readSoFar = async () => {
        const { rows } = await sql<{ read: number }>`
          select idx_tup_fetch + seq_tup_read as read from pg_stat_xact_user_tables where relname = 'orders'`.execute(
          tx,
        );
        return rows[0]!.read;
      };
      const before = await readSoFar();
      expect(await findDueOrders(tx, 500, { ...s.deps, now: new Date() })).toEqual(dueBefore);
      const after = await readSoFar();
      read = after - before;
      await sql`select sum(amount) from orders`.execute(tx);
      expect((await readSoFar()) - after).toBeGreaterThan(5_000);
      throw undo;
    });
    await expect(attempt).rejects.toBe(undo);
    expect(read).toBeLessThan(500);
  });
});

test('writes no row for an order that is up to date', async () => {
  await s.chainAt(110, 200);
  const order = await s.order();
  await s.detected(await s.transfer(order, 100n));
  const before = await s.admin
    .selectFrom('orders')
    .selectAll()
    .where('order_pk', '=', order.order_pk)
    .execute();
  const outcomes = await s.deps.db
    .transaction()
    .execute((tx) => settleOrders(tx, s.deps, ordersByKey([order.order_pk])));
  expect(outcomes).toEqual([]);
  const after = await s.admin
    .selectFrom('orders')
    .selectAll()
    .where('order_pk', '=', order.order_pk)
    .execute();
  expect(after).toEqual(before);
  expect(T0).toBe(at(0).getTime() / 1_000);
});

test('finds orders by required depth at once, or in the thorough sweep', async () => {
  const chain = 'BSC_TEST' as const;
  // Verified at 98 with the head at 100: 3 confirmations.
  await s.chainAt(100, 60, chain);
  const orders = await Promise.all(
    [5, 8].map((confirmations_required) => s.order({ chain, confirmations_required })),
  );
  const [less, more] = orders as [OrderRow, OrderRow];
  for (const order of orders)
    await s.verified(await s.verify(await s.transfer(order, 100n, { block_height: 98 })));
  const due = (everyDepth: boolean) => sweepDueOrders(s.deps, { everyDepth });
  const look = async () => [(await s.state(less)).status, (await s.state(more)).status];
  await due(false);
  expect(await look()).toEqual(['PENDING_CONFIRMATION', 'PENDING_CONFIRMATION']);
  await s.chainAt(105, 90, chain);
  await due(false);
  expect(await look()).toEqual(['SUCCESS', 'SUCCESS']);
  // Verified while the network required less depth than now, so that the order had to wait.
  const waiting = await s.order({ chain, confirmations_required: 2 });
  await s.chainAt(110, 100, chain);
  const seen = (height: number) =>
    s.admin
      .updateTable('chain_cursor')
      .set({ seen_height: height, head_height: height })
      .where('chain', '=', chain)
      .execute();
  await seen(108);
  await s.verified(await s.verify(await s.transfer(waiting, 100n, { block_height: 108 })));
  expect(await s.state(waiting)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
  await seen(110);
  await due(false);
  expect(await s.state(waiting)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
  await due(true);
  expect(await s.state(waiting)).toMatchObject({ status: 'SUCCESS' });
});

test('does not credit by seen blocks when an order needs more depth', async () => {
  const chain = 'BSC_TEST' as const;
  await s.chainAt(200, 300, chain);
  const order = await s.order({ chain, confirmations_required: 10 });
  const paid = await s.transfer(order, 100n, { block_height: 198 });
  await s.admin
    .updateTable('chain_cursor')
    .set({ seen_height: 500, head_height: 500 })
    .where('chain', '=', chain)
    .execute();
  await s.verified(await s.verify(paid));
  await sweepDueOrders(s.deps);
  expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
  await s.chainAt(207, 310, chain);
  await sweepDueOrders(s.deps);
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
});

test('settles a backlog in block order', async () => {
  const chain = 'BSC_TEST' as const;
  await s.chainAt(300, 400, chain);
  const orders: OrderRow[] = [];
  for (let i = 0; i < 8; i += 1) orders.push(await s.order({ chain, confirmations_required: 3 }));
  const placeOf = (order: OrderRow) => (orders.indexOf(order) * 3) % orders.length; // differs from the order of creation
  const paid = await Promise.all(
    orders.map(async (order) =>
      s.verify(
        await s.transfer(order, 100n, {
          block_height: 290 + placeOf(order),
          block_time: at(10 * placeOf(order)),
          first_block_time: at(10 * placeOf(order)),
        }),
      ),
    ),
  );
  await settleTransfers(
    s.deps,
    paid.map(({ transfer_id }) => transfer_id),
  );
  const { rows } = await sql<{ order_pk: string }>`
    select order_pk from ledger_transaction where kind = 'CREDIT' and order_pk = any(${orders.map((o) => o.order_pk)}::uuid[])
    order by ledger_tx_id`.execute(s.admin);
  expect(rows.map((row) => placeOf(orders.find((o) => o.order_pk === row.order_pk)!))).toEqual([
    0, 1, 2, 3, 4, 5, 6, 7,
  ]);
});
