import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { handleOnce } from '@opentill/db/inbox';
import type { Database } from '@opentill/db/database';
import type { TransferRow } from '@opentill/testkit/scenario';
import { settleTransfers } from '../src/handlers/settle-event.ts';
import { Crash, createCrashingDatabase, type CrashingDatabase } from './crashing-database.ts';
import { liveUndisturbed, liveWithCrashAt, type Handle } from './tracker-life.ts';
import {
  createTrackerScenario,
  handle,
  sweepDue,
  TTL,
  verifiedEvent,
  type TrackerScenario,
} from './tracker-scenario.ts';

let s: TrackerScenario;
let mortal: Database;
let crashing: CrashingDatabase;
beforeAll(async () => {
  s = await createTrackerScenario();
  mortal = s.database.open('tracker');
  crashing = createCrashingDatabase(mortal);
});
afterAll(async () => {
  await mortal.close();
  await s.close();
});

describe('stopped before or after a statement and started again', () => {
  test('the tracker ends as if undisturbed', async () => {
    const undisturbed = await liveUndisturbed(s, handle);
    expect(undisturbed).toMatchObject({
      states: [
        { status: 'SUCCESS', actual: 110n },
        { status: 'EXPIRED', reason: 'Paid after expiry', actual: 100n },
        { status: 'INIT' },
      ],
      balances: { MERCHANT: -110n, SUSPENSE: -105n, DEPOSIT: 215n },
      incidents: [1, 0, 0],
    });
    // A sample of the points; crash-points.full.test.ts takes them all.
    for (let point = 3; ; point += 25) {
      const disturbed = await liveWithCrashAt(s, crashing, point, handle);
      if (crashing.crashedAt === undefined) break;
      expect({ point: crashing.crashedAt, outcome: disturbed }).toEqual({
        point: crashing.crashedAt,
        outcome: undisturbed,
      });
    }
    expect(crashing.passed).toBeGreaterThan(70);
  });

  test('control: an inbox row that is committed apart from its effect loses effects', async () => {
    const apart: Handle = async (event, deps) => {
      const { transferIds } = event.data as { transferIds: string[] };
      const key = { schema: 'tracker', consumer: event.type, eventId: event.id } as const;
      const once = await handleOnce(deps.db, key, () => Promise.resolve());
      if (once.handled) await settleTransfers(deps, transferIds);
    };
    const undisturbed = await liveUndisturbed(s, apart);
    const afterItsCommit = 6;
    const disturbed = await liveWithCrashAt(s, crashing, afterItsCommit, apart);
    expect(crashing.crashedAt).toBe('after commit');
    expect(disturbed).not.toEqual(undisturbed);
  });
});

/*
 * Because a handler reads facts and not events, a second delivery of an event finds nothing to do, with or without
 * the inbox: the inbox saves work, it does not save money. What protects money stands in three walls, and each is
 * shown to hold when those before it are taken down.
 */
describe('a second delivery', () => {
  async function paidOrder() {
    const merchant = await s.merchant();
    const order = await s.order({ merchant_id: merchant.merchantId });
    const paid = await s.verify(await s.transfer(order, 100n));
    const event = verifiedEvent([paid]);
    await s.chainAt(110, 200);
    await handle(event, s.deps);
    return {
      order,
      paid,
      event,
      books: async () => [await s.refs(order), await s.story(order), await s.state(order)],
    };
  }
  const forgetEvent = (event: EventEnvelope) =>
    s.admin.deleteFrom('tracker.inbox').where('event_id', '=', event.id).execute();
  const forgetTransfer = (paid: TransferRow) =>
    s.admin.deleteFrom('transfer_settlement').where('transfer_id', '=', paid.transfer_id).execute();

  test('is not worked on: the inbox knows the event', async () => {
    const { event, books, paid } = await paidOrder();
    const before = await books();
    await forgetTransfer(paid); // whatever it would find, it does not look
    crashing.crashAt(Number.POSITIVE_INFINITY);
    await handle(event, s.depsOn(crashing.db));
    expect(crashing.passed).toBe(2 * 3); // begin, inbox, commit
    expect(await books()).toEqual(before);
    expect(await s.settlement(paid)).toBeUndefined();
  });

  test('without the inbox finds nothing to do: the facts are settled', async () => {
    const { event, books } = await paidOrder();
    const before = await books();
    await forgetEvent(event);
    crashing.crashAt(Number.POSITIVE_INFINITY);
    await handle(event, s.depsOn(crashing.db));
    expect(crashing.passed).toBe(2 * 5); // begin, inbox, lock, facts, commit
    expect(await books()).toEqual(before);
  });

  test('without inbox and memory is refused: the ledger knows the references', async () => {
    const { event, books, paid } = await paidOrder();
    const before = await books();
    await forgetEvent(event);
    await forgetTransfer(paid);
    await expect(handle(event, s.deps)).rejects.toMatchObject({
      code: 'DATABASE_CONSTRAINT',
      context: { constraint: 'ledger_transaction_ref_key' },
    });
    expect(await books()).toEqual(before);
  });

  test('control: without any of the three it would be booked twice', async () => {
    const { event, books, paid } = await paidOrder();
    const before = await books();
    await forgetEvent(event);
    await forgetTransfer(paid);
    await sql`alter table ledger_transaction drop constraint ledger_transaction_ref_key`.execute(s.admin);
    await handle(event, s.deps);
    expect(await books()).not.toEqual(before);
  });
});

test('an order that became due while the tracker was down expires once when it is up again', async () => {
  const order = await s.order({ chain: 'BSC_TEST' });
  await s.chainAt(500, TTL + 1, 'BSC_TEST');
  for (let point = 1; point <= 12; point += 1) {
    crashing.crashAt(point);
    await sweepDue(s.depsOn(crashing.db)).catch((error: unknown) => {
      if (!(error instanceof Crash)) throw error;
    });
  }
  await crashing.buried();
  await sweepDue(s.deps);
  expect(await s.story(order)).toEqual(['ORDER_EXPIRED EXPIRED Not paid']);
});
