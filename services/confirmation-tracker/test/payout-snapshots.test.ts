import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import type { FateState, SigningState } from '@opentill/domain/settle-payout';
import { aFate, anOwnTransaction, send } from '@opentill/testkit/payout-scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { interpose } from './interposed-database.ts';
import { changed, fated, payoutsOn, type Payouts } from './payout-scenario.ts';
import { createTrackerScenario, handle, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
let p: Payouts;
let interposed: Database;
beforeAll(async () => {
  s = await createTrackerScenario();
  p = payoutsOn(s);
  interposed = s.database.open('tracker');
  await s.chainAt(110, 200);
});
afterAll(async () => {
  await p.checkBooks();
  await interposed.close();
  await s.close();
});

/** Updates like a scanner: no key column is set, so that it waits for no referencing transaction. */
async function becomes(txHash: string, state: FateState): Promise<void> {
  await sql`update own_transaction_fate set state = ${state}, version = version + 1, updated_at = now()
    where tx_hash = ${txHash}`.execute(s.admin);
}

/**
 * The scanner commits `after` behind the tracker's statement number `place`; then the transaction is orphaned and
 * settled again.
 * @returns undefined if there were fewer statements
 */
async function settleWith(before: FateState, after: FateState, place: number) {
  const merchant = await s.merchant({ notifyReverted: true });
  const order = await p.payout({ merchant_id: merchant.merchantId });
  const transaction = await p.sign(order);
  await p.sent(order);
  await p.fate(transaction, before);
  let statements = 0;
  const db = interpose(interposed, async () => {
    statements += 1;
    if (statements === place) await becomes(transaction.tx_hash, after);
  });
  await handle(fated(transaction), s.depsOn(db));
  if (statements < place) return undefined;
  const atOnce = { status: (await s.state(order)).status, ledger: await p.postingsOf(order) };
  await p.fated(transaction, 'ORPHANED');
  const callbacks = (await s.callbacks(order)).map(({ type }) => type);
  return {
    atOnce,
    callbacks,
    incidents: (await s.incidents(order)).map(({ kind }) => kind),
    ledger: await p.postingsOf(order),
  };
}

describe('outcome that changes while its payout is settled', () => {
  test.each<[FateState, FateState]>([
    ['VERIFIED', 'ORPHANED'],
    ['MINED', 'VERIFIED'],
    ['ORPHANED', 'VERIFIED'],
  ])('books the amount that a callback reports (%s, then %s) and reverts it later', async (before, after) => {
    let place = 1;
    for (; ; place += 1) {
      const seen = await settleWith(before, after, place);
      if (seen === undefined) break;
      const { atOnce, callbacks, incidents, ledger } = seen;
      const isPaid = atOnce.status === 'SUCCESS';
      expect({ place, isPaid, booked: atOnce.ledger['PAID_OUT'] }).toEqual({
        place,
        isPaid,
        booked: isPaid ? 100n : undefined,
      });
      const wasReported = callbacks.includes('ORDER_SUCCESS');
      expect({ place, wasReported, incidents, isReverted: callbacks.includes('ORDER_REVERTED') }).toEqual({
        place,
        wasReported,
        incidents: wasReported ? ['PAYOUT_ORPHANED'] : [],
        isReverted: wasReported,
      });
      expect(ledger).toMatchObject({ HOT_AVAILABLE: -100n, IN_FLIGHT: 100n });
    }
    expect(place).toBeGreaterThan(6);
  });
});

test('settles a payout by a transaction that lands while the tracker waits for it', async () => {
  const order = await p.payout();
  const { waiting, transaction } = await s.admin.transaction().execute(async (tx) => {
    const becomesState = (state: SigningState) =>
      sql`update payout set state = ${state}, authorised_at = now() where order_pk = ${order.order_pk}`.execute(
        tx,
      );
    await becomesState('AUTHORISED');
    const settling = handle(changed(order), s.deps);
    await waitUntil('the tracker waits for the row', async () => {
      const { rows } = await sql`select from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and query like '%settle_payout_money%'`.execute(s.admin);
      return rows.length > 0;
    });
    const signed = await anOwnTransaction(tx, order);
    await becomesState('SIGNED');
    await send(tx, order);
    await aFate(tx, signed, 'VERIFIED');
    return { waiting: { settling }, transaction: signed };
  });
  await waiting.settling;
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  expect(await p.postingsOf(order)).toMatchObject({ HOT_AVAILABLE: -100n, PAID_OUT: 100n });
  expect((await s.callbacks(order)).at(-1)).toMatchObject({
    type: 'ORDER_SUCCESS',
    data: {
      transaction: {
        txid: transaction.tx_hash,
        from: expect.stringMatching(new RegExp(transaction.wallet, 'i')) as string,
      },
    },
  });
});
