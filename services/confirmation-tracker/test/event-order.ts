import { afterAll, beforeAll, expect, test } from 'vitest';
import fc from 'fast-check';
import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import type { OrderRow, TransferRow } from '@opentill/testkit/scenario';
import { createTransferSweep } from '../src/sweep-transfers.ts';
import {
  createTrackerScenario,
  envelope,
  handle,
  named,
  sweepDue,
  verifiedEvent,
  type TrackerScenario,
} from './tracker-scenario.ts';

// The broker may deliver an event late, twice, out of order or never. Orders and ledger must end as if every event had
// arrived at once and in order.
let s: TrackerScenario;

interface Delivery {
  /** Chain changes that happen before the event is handled; an event is never handled before its change. */
  readonly delay: number;
  readonly times: number;
}

const IN_ORDER: Delivery = { delay: 0, times: 1 };
const faultyDelivery = fc.array(fc.record({ delay: fc.nat({ max: 20 }), times: fc.nat({ max: 3 }) }), {
  minLength: 20,
  maxLength: 20,
});

interface Played {
  readonly orders: readonly OrderRow[];
  readonly transfers: readonly TransferRow[];
  readonly merchantId: string;
  readonly symbol: string;
}

/**
 * Six orders: paid at once; paid in two parts; paid by a transfer that a reorganisation moved; underpaid; overpaid by
 * one transfer; paid by a replacement of a vanished transfer. Every chain change emits an event.
 */
async function play(way: readonly Delivery[], shuffle: readonly number[]): Promise<Played> {
  const { merchantId } = await s.merchant({ notifyReverted: true });
  const symbol = `T${merchantId.slice(2, 10)}`;
  await s.chainAt(110, 200);
  const orders: OrderRow[] = [];
  for (let i = 0; i < 6; i += 1) orders.push(await s.order({ merchant_id: merchantId, symbol }));
  const [whole, parts, moved, under, over, vanished] = orders as [
    OrderRow,
    OrderRow,
    OrderRow,
    OrderRow,
    OrderRow,
    OrderRow,
  ];
  const late: { event: EventEnvelope; due: number; rank: number }[] = [];
  let change = 0;
  const tell = async (event: EventEnvelope) => {
    const { delay, times } = way[change % way.length] ?? IN_ORDER;
    for (let i = 0; i < times; i += 1)
      late.push({ event, due: change + delay * i + delay, rank: shuffle[change % shuffle.length] ?? 0 });
    change += 1;
    await handleDue(change);
  };
  const handleDue = async (now: number) => {
    const due = late.filter((one) => one.due < now).toSorted((a, b) => a.rank - b.rank || a.due - b.due);
    for (const one of due) {
      late.splice(late.indexOf(one), 1);
      await handle(one.event, s.deps);
    }
  };
  const seen = async (...transfers: TransferRow[]) => tell(envelope('transfer.detected', named(transfers)));
  const gone = async (...transfers: TransferRow[]) => tell(envelope('transfer.orphaned', named(transfers)));
  const sure = async (...transfers: TransferRow[]) => tell(verifiedEvent(transfers));

  const a = await s.transfer(whole, 100n);
  const b1 = await s.transfer(parts, 60n);
  await seen(a, b1);
  const c = await s.transfer(moved, 100n, { block_height: 102 });
  const d = await s.transfer(under, 40n, { block_height: 102 });
  await seen(c, d);
  await sure(await s.verify(a), await s.verify(b1));
  await gone(await s.orphan(c));
  const e = await s.transfer(over, 250n, { block_height: 103 });
  const f1 = await s.transfer(vanished, 100n, { block_height: 103 });
  await seen(e, f1);
  await seen(await s.mineAgain(c, 104, 130));
  await gone(await s.orphan(f1));
  const b2 = await s.transfer(parts, 40n, { block_height: 104 });
  const f2 = await s.transfer(vanished, 100n, { block_height: 105 });
  await seen(b2, f2);
  await sure(await s.verify(c), await s.verify(d), await s.verify(e));
  await sure(await s.verify(b2), await s.verify(f2));
  await gone(await s.orphan(a));
  await sure(await s.verify(await s.mineAgain(a, 108, 160)));
  await handleDue(Number.POSITIVE_INFINITY);
  const sweep = createTransferSweep(s.deps, {
    pageSize: 5_000,
    graceMs: 0,
    lookBackMs: 300_000,
    from: 'beginning',
  });
  while ((await sweep(new AbortController().signal)) === 'again');
  await sweepDue(s.deps);
  return { orders, transfers: [a, b1, b2, c, d, e, f1, f2], merchantId, symbol };
}

/** Excludes the callbacks of intermediate states. */
async function ending({ orders, transfers, merchantId, symbol }: Played): Promise<unknown> {
  return {
    states: await Promise.all(orders.map((order) => s.state(order))),
    last: await Promise.all(
      orders.map(async (order) => {
        const callbacks = await s.callbacks(order);
        expect(callbacks.map((one) => one.sequence)).toEqual(callbacks.map((_, i) => i + 2));
        expect(await s.outbox(order)).toHaveLength(callbacks.length);
        // ORDER_REVERTED reports an incident only if it was observed.
        const last = callbacks.filter((one) => one.type !== 'ORDER_REVERTED').at(-1)?.data;
        // An open order reports its verified amount with the next callback.
        return last && [last.status, last.status === 'SUCCESS' && last.actualAmount];
      }),
    ),
    settled: await Promise.all(
      transfers.map(async (transfer) => {
        const { version, booked, credited } = (await s.settlement(transfer)) ?? {};
        return { version, booked, credited };
      }),
    ),
    unmatched: await Promise.all(transfers.map((transfer) => s.unmatched(transfer))),
    balances: await s.balances(merchantId, 'ETH_SEPOLIA', symbol),
  };
}

/** Random orders of the events of the same chain. */
/** @param seed without one, each run delivers in other orders */
export function describeOrderOfEvents(runs: number, seed = Math.floor(Math.random() * 2 ** 31)): void {
  beforeAll(async () => {
    s = await createTrackerScenario();
  });
  afterAll(() => s.close());

  test('ends the same when events are late, duplicated, reordered or lost', async () => {
    const inOrder = await ending(await play([IN_ORDER], [0]));
    expect(inOrder).toMatchObject({
      states: [
        { status: 'SUCCESS', actual: 100n },
        { status: 'SUCCESS', actual: 100n },
        { status: 'SUCCESS', actual: 100n },
        { status: 'PENDING', actual: 40n },
        { status: 'SUCCESS', actual: 250n },
        { status: 'SUCCESS', actual: 100n },
      ],
      balances: { MERCHANT: -650n, SUSPENSE: -40n, DEPOSIT: 690n },
    });
    await fc.assert(
      fc.asyncProperty(
        faultyDelivery,
        fc.array(fc.nat(100), { minLength: 20, maxLength: 20 }),
        async (way, shuffle) => {
          expect(await ending(await play(way, shuffle))).toEqual(inOrder);
        },
      ),
      {
        numRuns: Number(process.env['RUNS'] ?? runs),
        seed: Number(process.env['SEED'] ?? seed),
      },
    );
  });

  test('moves no order for an event whose transfer was orphaned meanwhile', async () => {
    const { merchantId } = await s.merchant();
    const order = await s.order({ merchant_id: merchantId });
    const paid = await s.verify(await s.transfer(order, 100n));
    const event = verifiedEvent([paid]);
    await s.orphan(paid);
    await handle(event, s.deps);
    expect(await s.state(order)).toMatchObject({ status: 'INIT', actual: null });
  });
}
