import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { handleOnce } from '@opentill/db/inbox';
import type { Database } from '@opentill/db/database';
import type { TransferRow } from '@opentill/testkit/scenario';
import { settleTransfers } from '../src/handlers/settle-event.ts';
import { Crash, createCrashingDatabase, type CrashingDatabase } from './crashing-database.ts';
import { runUndisturbed, runWithCrashAt, type Handle } from './collection-lifecycle.ts';
import {
  createTrackerScenario,
  handle,
  sweepDue,
  TTL,
  verifiedEvent,
  type TrackerScenario,
} from './tracker-scenario.ts';

let s: TrackerScenario;
let crashDatabase: Database;
let crashing: CrashingDatabase;
beforeAll(async () => {
  s = await createTrackerScenario();
  crashDatabase = s.database.open('tracker');
  crashing = createCrashingDatabase(crashDatabase);
});
afterAll(async () => {
  await crashDatabase.close();
  await s.close();
});

describe('crash before or after a statement', () => {
  test('ends as if undisturbed after a crash at a sample of the statements', async () => {
    const undisturbed = await runUndisturbed(s, handle);
    expect(undisturbed).toMatchObject({
      states: [
        { status: 'SUCCESS', actual: 110n },
        { status: 'EXPIRED', reason: 'Paid after expiry', actual: 100n },
        { status: 'INIT' },
      ],
      balances: { MERCHANT: -110n, SUSPENSE: -105n, DEPOSIT: 215n },
      incidents: [1, 0, 0],
    });
    // crash-points.full.test.ts covers all points.
    for (let point = 3; ; point += 25) {
      const disturbed = await runWithCrashAt(s, crashing, point, handle);
      if (crashing.crashedAt === undefined) break;
      expect({ point: crashing.crashedAt, outcome: disturbed }).toEqual({
        point: crashing.crashedAt,
        outcome: undisturbed,
      });
    }
    expect(crashing.passed).toBeGreaterThan(70);
  });

  test('control: loses effects if the inbox row is committed separately', async () => {
    const apart: Handle = async (event, deps) => {
      const { transferIds } = event.data as { transferIds: string[] };
      const key = { schema: 'tracker', consumer: event.type, eventId: event.id } as const;
      const once = await handleOnce(deps.db, key, () => Promise.resolve());
      if (once.handled) await settleTransfers(deps, transferIds);
    };
    const undisturbed = await runUndisturbed(s, apart);
    const afterItsCommit = 6;
    const disturbed = await runWithCrashAt(s, crashing, afterItsCommit, apart);
    expect(crashing.crashedAt).toBe('after commit');
    expect(disturbed).not.toEqual(undisturbed);
  });
});

// A handler reads facts, so a second delivery changes no state even without the inbox. Three guards protect money:
// inbox, settled facts and unique ledger references. Each test removes the guards before the one it shows.
describe('second delivery', () => {
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

  test('skips a second delivery because the inbox contains the event', async () => {
    const { event, books, paid } = await paidOrder();
    const before = await books();
    await forgetTransfer(paid); // a settlement would find work if it ran
    crashing.crashAt(Number.POSITIVE_INFINITY);
    await handle(event, s.depsOn(crashing.db));
    expect(crashing.passed).toBe(2 * 3); // begin, inbox, commit
    expect(await books()).toEqual(before);
    expect(await s.settlement(paid)).toBeUndefined();
  });

  test('finds no change in a second delivery without the inbox', async () => {
    const { event, books } = await paidOrder();
    const before = await books();
    await forgetEvent(event);
    crashing.crashAt(Number.POSITIVE_INFINITY);
    await handle(event, s.depsOn(crashing.db));
    expect(crashing.passed).toBe(2 * 5); // begin, inbox, lock, facts, commit
    expect(await books()).toEqual(before);
  });

  test('rejects a second delivery by unique references without inbox and settlement', async () => {
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

  test('control: books a payment twice without inbox, settlement and unique references', async () => {
    const { event, books, paid } = await paidOrder();
    const before = await books();
    await forgetEvent(event);
    await forgetTransfer(paid);
    await sql`alter table ledger_transaction drop constraint ledger_transaction_ref_key`.execute(s.admin);
    await handle(event, s.deps);
    expect(await books()).not.toEqual(before);
  });
});

test('expires an order once that became due while the tracker was down', async () => {
  const order = await s.order({ chain: 'BSC_TEST' });
  await s.chainAt(500, TTL + 1, 'BSC_TEST');
  for (let point = 1; point <= 12; point += 1) {
    crashing.crashAt(point);
    await sweepDue(s.depsOn(crashing.db)).catch((error: unknown) => {
      if (!(error instanceof Crash)) throw error;
    });
  }
  await crashing.sessionsEnded();
  await sweepDue(s.deps);
  expect(await s.story(order)).toEqual(['ORDER_EXPIRED EXPIRED Not paid']);
});
