import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import type { OrderRow, TransferRow } from '@opentill/testkit/scenario';
import type { HandlerDeps } from '../src/handlers/settle-event.ts';
import { createTransferSweep } from '../src/sweep-transfers.ts';
import { Crash, type CrashingDatabase } from './crashing-database.ts';
import { envelope, named, sweepDue, verifiedEvent, type TrackerScenario } from './tracker-scenario.ts';

export type Handle = (event: EventEnvelope, deps: HandlerDeps) => Promise<void>;

/**
 * Three orders: one paid in two parts, credited, reorganised away and back; one paid late; one paid in a wrong token.
 * All work of the tracker goes through `run`.
 */
export async function life(
  s: TrackerScenario,
  run: (work: (deps: HandlerDeps) => Promise<unknown>) => Promise<void>,
  how: Handle,
) {
  const merchant = await s.merchant({ notifyReverted: true });
  const symbol = `T${merchant.merchantId.slice(2, 10)}`;
  await s.chainAt(110, 200);
  const own = { merchant_id: merchant.merchantId, symbol };
  const orders = [await s.order(own), await s.order({ ...own, expires_at: new Date(0) }), await s.order(own)];
  const [paid, late, wrong] = orders as [OrderRow, OrderRow, OrderRow];
  const send = (event: EventEnvelope) => run((deps) => how(event, deps));

  const one = await s.transfer(paid, 60n);
  await send(envelope('transfer.detected', named([one])));
  const two = await s.transfer(paid, 50n, { block_height: 101 });
  const other = await s.transfer(wrong, 5n, { contract_address: null });
  await send(envelope('transfer.detected', named([two, other])));
  await run(sweepDue);
  await send(verifiedEvent([await s.verify(one), await s.verify(two), await s.verify(other)]));
  const afterwards = await s.transfer(late, 100n);
  await send(verifiedEvent([await s.verify(afterwards)]));
  const orphan = await s.orphan(two);
  await send(envelope('transfer.orphaned', named([orphan])));
  await send(verifiedEvent([await s.verify(await s.mineAgain(two, 104, 120))]));
  const last = await s.transfer(paid, 1n, { block_height: 106 });
  const sweep = { pageSize: 5_000, graceMs: 0, lookBackMs: 300_000, from: 'beginning' as const };
  await run(async (deps) => {
    const next = createTransferSweep(deps, sweep);
    while ((await next(new AbortController().signal)) === 'again');
  });
  return { merchantId: merchant.merchantId, symbol, orders, transfers: [one, two, other, afterwards, last] };
}

export type Life = Awaited<ReturnType<typeof life>>;

/** Excludes generated names. */
async function outcome(s: TrackerScenario, lived: Life): Promise<unknown> {
  const { orders, transfers, merchantId, symbol } = lived;
  const names = new Map([
    ...orders.map((order, i) => [order.order_pk, `order${i}`] as const),
    ...transfers.map((transfer, i) => [String(transfer.transfer_id), `transfer${i}`] as const),
  ]);
  /** `<kind>:<order or transfer>[:<booking>]` */
  const nameless = (ref: string) =>
    ref
      .split(':')
      .map((part, i) => (i === 1 ? (names.get(part) ?? '?') : part))
      .join(':');
  return {
    states: await Promise.all(orders.map((order) => s.state(order))),
    stories: await Promise.all(orders.map((order) => s.story(order))),
    sequences: await Promise.all(
      orders.map(async (order) => (await s.callbacks(order)).map((t) => t.sequence)),
    ),
    events: await Promise.all(orders.map(async (order) => (await s.outbox(order)).length)),
    refs: await Promise.all(orders.map(async (order) => (await s.refs(order)).map(nameless))),
    settlements: await Promise.all(transfers.map((transfer) => s.settlement(transfer))),
    unmatched: await Promise.all(transfers.map((transfer: TransferRow) => s.unmatched(transfer))),
    incidents: await Promise.all(orders.map(async (order) => (await s.incidents(order)).length)),
    balances: await s.balances(merchantId, 'ETH_SEPOLIA', symbol),
  };
}

export async function runUndisturbed(s: TrackerScenario, how: Handle): Promise<unknown> {
  const lived = await life(s, async (work) => void (await work(s.deps)), how);
  return outcome(s, lived);
}

/**
 * The tracker dies at step `point`, before or after a statement. Another one repeats the interrupted work, like after a
 * redelivery.
 */
export async function runWithCrashAt(
  s: TrackerScenario,
  crashing: CrashingDatabase,
  point: number,
  how: Handle,
): Promise<unknown> {
  crashing.crashAt(point);
  const untilDone = async (work: (deps: HandlerDeps) => Promise<unknown>) => {
    try {
      await work(s.depsOn(crashing.db));
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      await crashing.sessionsEnded();
      await work(s.deps);
    }
  };
  const lived = await life(s, untilDone, how);
  return outcome(s, lived);
}
