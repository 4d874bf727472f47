import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { anOwnTransaction } from '@opentill/testkit/payout-scenario';
import type { OrderRow } from '@opentill/testkit/scenario';
import type { HandlerDeps } from '../src/handlers/settle-event.ts';
import { sweepDecisions } from '../src/sweep-decisions.ts';
import { Crash, type CrashingDatabase } from './crashing-database.ts';
import { changed, fated, payoutsOn, sweepDue, sweepFates } from './payout-scenario.ts';
import { envelope, handle, TTL, type TrackerScenario } from './tracker-scenario.ts';

type Run = (work: (deps: HandlerDeps) => Promise<unknown>) => Promise<void>;

/**
 * Payouts: one paid at the second attempt, reorganised before and after its end; one reverted, one refused, one
 * expired; and a collection that an operator accepts. All work of the tracker goes through `run`.
 */
async function life(s: TrackerScenario, run: Run) {
  const p = payoutsOn(s);
  const merchant = await s.merchant({ notifyReverted: true });
  const own = { merchant_id: merchant.merchantId, symbol: `P${merchant.merchantId.slice(2, 10)}` };
  await s.chainAt(110, 200);
  const past = { ...own, expires_at: new Date(Date.now() - 1_000) };
  const orders = [await p.payout(own), await p.payout(own), await p.payout(own), await p.payout(past)];
  const [paid, reverted, refused, expired] = orders as [OrderRow, OrderRow, OrderRow, OrderRow];
  const send = (event: EventEnvelope) => run((deps) => handle(event, deps));

  const first = await p.sign(paid);
  const failing = await p.sign(reverted);
  await p.refuse(refused, 'Address denied');
  await p.sent(); // sends no event
  await markSent(s, paid, reverted);
  await send(changed(paid, reverted, refused));
  await run(sweepDue);
  await p.fate(first, 'MINED');
  await p.fate(failing, 'MINED', { succeeded: false });
  await send(fated(first, failing));
  await p.fate(first, 'ORPHANED');
  await send(fated(first));
  const second = await anOwnTransaction(s.admin, paid, { nonce: first.nonce });
  await p.fate(second, 'VERIFIED', { block_height: 108 });
  await p.fate(failing, 'VERIFIED', { succeeded: false });
  await send(fated(second, failing));
  await p.fate(second, 'ORPHANED');
  await run(sweepFates);
  await p.fate(second, 'VERIFIED', { block_height: 109 });
  await send(fated(second));

  const order = await s.order({ ...own, expires_at: new Date(0) });
  const late = await s.verify(await s.transfer(order, 100n, { atSecond: TTL }));
  await send(
    envelope('block.verified', {
      chain: late.chain,
      height: 100,
      blockTimeSeconds: 1,
      transferIds: [String(late.transfer_id)],
    }),
  );
  await p.decide(order, 'ACCEPT');
  await run(sweepDecisions);
  await run(sweepDecisions); // the next sweep retries what one reports as failed
  return { merchantId: merchant.merchantId, symbol: own.symbol, orders: [...orders, order], expired };
}

async function markSent(s: TrackerScenario, ...orders: readonly OrderRow[]): Promise<void> {
  for (const { order_pk } of orders)
    await s.admin
      .updateTable('payout')
      .set({ first_sent_at: new Date() })
      .where('order_pk', '=', order_pk)
      .execute();
}

/** Excludes generated names. */
async function outcome(s: TrackerScenario, lived: Awaited<ReturnType<typeof life>>): Promise<unknown> {
  const { orders, merchantId, symbol } = lived;
  return {
    states: await Promise.all(orders.map((order) => s.state(order))),
    stories: await Promise.all(orders.map((order) => s.story(order))),
    sequences: await Promise.all(
      orders.map(async (order) => (await s.callbacks(order)).map((t) => t.sequence)),
    ),
    events: await Promise.all(orders.map(async (order) => (await s.outbox(order)).length)),
    kinds: await Promise.all(
      orders.map(async (order) => (await s.refs(order)).map((ref) => ref.split(':')[0])),
    ),
    incidents: await Promise.all(
      orders.map(async (order) => (await s.incidents(order)).map(({ kind }) => kind)),
    ),
    balances: await s.balances(merchantId, 'ETH_SEPOLIA', symbol),
  };
}

export async function runUndisturbed(s: TrackerScenario): Promise<unknown> {
  return outcome(s, await life(s, async (work) => void (await work(s.deps))));
}

/** The tracker dies at step `point`, before or after a statement; another one repeats its work. */
export async function runWithCrashAt(
  s: TrackerScenario,
  crashing: CrashingDatabase,
  point: number,
): Promise<unknown> {
  crashing.crashAt(point);
  const lived = await life(s, async (work) => {
    try {
      await work(s.depsOn(crashing.db));
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      await crashing.sessionsEnded();
      await work(s.deps);
    }
  });
  return outcome(s, lived);
}
