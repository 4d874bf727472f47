import { expect, test } from 'vitest';
import { sql } from 'kysely';
import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import type { Database } from '@opentill/db/database';
import type { OrderRow, TransferRow } from '@opentill/testkit/scenario';
import { createTransferSweep } from '../src/sweep-transfers.ts';
import {
  envelope,
  handle,
  named,
  sweepDue,
  TTL,
  verifiedEvent,
  type TrackerScenario,
} from './tracker-scenario.ts';

/** mulberry32, so that a failing seed can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const FATES = [
  'verified',
  'verified',
  'orphaned',
  'moved',
  'lost',
  'reverted',
  'returned',
  'altered',
] as const;

export function describeTwoReplicas(
  world: () => { readonly s: TrackerScenario; readonly otherDatabase: Database },
  seeds: readonly number[],
): void {
  test.each(seeds)(
    'ends like an undisturbed tracker with two replicas and faulty delivery (seed %d)',
    async (seed) => {
      const { s, otherDatabase } = world();
      const replicas = [s.deps, s.depsOn(otherDatabase.kysely)];
      const next = random(seed * 7_919);
      const waiting: EventEnvelope[] = [];
      const inFlight: Promise<void>[] = [];
      const deliverSome = (count: number) => {
        for (let i = 0; i < count && waiting.length > 0; i += 1) {
          const [event] = waiting.splice(Math.floor(next() * waiting.length), 1);
          const replica = replicas[Math.floor(next() * 2)];
          if (event !== undefined && replica !== undefined) inFlight.push(handle(event, replica));
        }
      };
      const { orders } = await play(s, seed, (event) => {
        const fate = next();
        if (fate > 0.15) waiting.push(event);
        if (fate > 0.7) waiting.push(event);
        deliverSome(Math.floor(next() * 3));
        return Promise.resolve();
      });
      deliverSome(waiting.length);
      await Promise.all(inFlight);
      await finish(s);
      for (const order of orders) await checkStory(s, order);
      await checkBooks(s);

      // The time of SUCCESS may differ.
      const disturbed = await Promise.all(orders.map((order) => s.state(order)));
      const calm = await play(s, seed, (event) => handle(event, s.deps));
      await finish(s);
      const undisturbed = await Promise.all(calm.orders.map((order) => s.state(order)));
      for (const [i, state] of disturbed.entries()) {
        const other = undisturbed[i];
        if (state.status === 'SUCCESS' || other?.status === 'SUCCESS') continue;
        expect(state).toEqual(other);
      }
      await checkBooks(s);
    },
  );
}

/**
 * Transfers are detected, verified, orphaned, moved, or mined again with another amount after they were credited. Every
 * change emits an event through `send`.
 */
async function play(
  s: TrackerScenario,
  seed: number,
  send: (event: EventEnvelope) => Promise<void>,
): Promise<{ orders: OrderRow[]; transfers: TransferRow[] }> {
  const next = random(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T;
  const merchant = await s.merchant({ notifyReverted: true });
  const orders: OrderRow[] = [];
  const transfers: TransferRow[] = [];
  await s.chainAt(200, 300);
  for (let i = 0; i < 6; i += 1) orders.push(await s.order({ merchant_id: merchant.merchantId }));
  for (let i = 0; i < 14; i += 1) {
    const order = pick(orders);
    let transfer = await s.transfer(order, pick([20n, 40n, 60n, 100n, 130n]), { block_height: 150 + i });
    await send(envelope('transfer.detected', named([transfer])));
    const fate = pick(FATES);
    if (fate === 'orphaned' || fate === 'moved') {
      transfer = await s.orphan(transfer);
      await send(envelope('transfer.orphaned', named([transfer])));
    }
    if (fate === 'moved') {
      transfer = await s.mineAgain(transfer, 170 + i, 240);
      await send(envelope('transfer.detected', named([transfer])));
    }
    if (fate !== 'orphaned' && fate !== 'lost') {
      transfer = await s.verify(transfer);
      await send(verifiedEvent([transfer]));
    }
    if (fate === 'reverted' || fate === 'returned') {
      transfer = await s.orphan(transfer);
      await send(envelope('transfer.orphaned', named([transfer])));
    }
    if (fate === 'returned') {
      transfer = await s.verify(await s.mineAgain(transfer, 190, 260));
      await send(verifiedEvent([transfer]));
    }
    if (fate === 'altered') {
      const amount = pick([10n, 50n, 150n]);
      transfer = await s.mineAgain(transfer, 191, 270, { amount, state: 'VERIFIED' });
      await send(verifiedEvent([transfer]));
    }
    transfers.push(transfer);
  }
  await s.chainAt(400, TTL + 60);
  return { orders, transfers };
}

async function checkBooks(s: TrackerScenario): Promise<void> {
  const { rows: unbalanced } = await sql`
    select chain, symbol from ledger_account group by 1, 2 having sum(balance) <> 0`.execute(s.admin);
  expect(unbalanced).toEqual([]);
  const { rows: deposits } = await sql<{ booked: bigint; verified: bigint }>`
    select (select balance from ledger_account where kind = 'DEPOSIT') as booked,
      (select sum(amount) from transfer where state = 'VERIFIED') as verified`.execute(s.admin);
  expect(deposits[0]?.booked).toBe(deposits[0]?.verified);
  const { rows: credits } = await sql`
    select a.merchant_id from ledger_account a left join (
      select o.merchant_id, sum(t.amount) as credited from transfer_settlement x join transfer t using (transfer_id)
        join orders o using (order_pk) where x.credited and t.state = 'VERIFIED' group by 1
    ) c using (merchant_id)
    where a.kind = 'MERCHANT' and -a.balance <> coalesce(c.credited, 0)`.execute(s.admin);
  expect(credits).toEqual([]);
  // Every incident has a reversed credit, and vice versa.
  const { rows: incidents } = await sql<{ incidents: number; reversals: number; holds: number }>`
    select (select count(*) from incident) as incidents, (select count(*) from asset_hold) as holds,
      (select count(*) from ledger_transaction where kind = 'CREDIT_REVERSED') as reversals`.execute(s.admin);
  expect(incidents[0]?.incidents).toBe(incidents[0]?.reversals);
  expect(incidents[0]?.holds).toBe(incidents[0]?.reversals);
}

/** No gap, a last status equal to the order's, no two equal ones in a row. */
async function checkStory(s: TrackerScenario, order: OrderRow): Promise<void> {
  const callbacks = await s.callbacks(order);
  expect(callbacks.map((t) => t.sequence)).toEqual(callbacks.map((_, i) => i + 2));
  const { status } = await s.state(order);
  const last = callbacks.at(-1);
  if (last !== undefined) expect(last.data.status).toBe(status);
  const success = callbacks.findIndex((t) => t.type === 'ORDER_SUCCESS');
  if (success >= 0)
    for (const after of callbacks.slice(success + 1)) expect(after.type).toBe('ORDER_REVERTED');
  expect(await s.outbox(order)).toHaveLength(callbacks.length);
}

async function finish(s: TrackerScenario): Promise<void> {
  const sweep = createTransferSweep(s.deps, {
    pageSize: 100,
    graceMs: 0,
    lookBackMs: 300_000,
    from: 'beginning' as const,
  });
  while ((await sweep(new AbortController().signal)) === 'again');
  await sweepDue(s.deps);
}
