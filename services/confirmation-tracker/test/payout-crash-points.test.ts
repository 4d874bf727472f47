import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '@opentill/db/database';
import { createCrashingDatabase, type CrashingDatabase } from './crashing-database.ts';
import { runUndisturbed, runWithCrashAt } from './payout-lifecycle.ts';
import { payoutsOn } from './payout-scenario.ts';
import { createTrackerScenario, type TrackerScenario } from './tracker-scenario.ts';

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

test('ends payouts as if undisturbed after a crash at a sample of the statements', async () => {
  const undisturbed = await runUndisturbed(s);
  expect(undisturbed).toMatchObject({
    states: [
      { status: 'SUCCESS', actual: 100n },
      { status: 'FAILED', reason: 'Transaction failed' },
      { status: 'FAILED', reason: 'Address denied' },
      { status: 'FAILED', reason: 'Payout expired' },
      { status: 'SUCCESS', actual: 100n },
    ],
    stories: [
      [
        'ORDER_PENDING PENDING',
        'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
        'ORDER_PENDING PENDING Reorganised',
        'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
        'ORDER_SUCCESS SUCCESS 0.0001',
        'ORDER_REVERTED SUCCESS Reorganised 0.0001',
      ],
      expect.any(Array),
      ['ORDER_FAILED FAILED Address denied'],
      ['ORDER_FAILED FAILED Payout expired'],
      expect.any(Array),
    ],
    incidents: [['PAYOUT_ORPHANED'], [], [], [], []],
    balances: { HOT_AVAILABLE: 300n, HOT_RESERVED: 0n, IN_FLIGHT: 0n, PAID_OUT: 100n, MERCHANT: -100n },
  });
  // payout-crash-points.full.test.ts covers all points.
  for (let point = 3; ; point += 41) {
    const disturbed = await runWithCrashAt(s, crashing, point);
    if (crashing.crashedAt === undefined) break;
    expect({ point: crashing.crashedAt, outcome: disturbed }).toEqual({
      point: crashing.crashedAt,
      outcome: undisturbed,
    });
  }
  expect(crashing.passed).toBeGreaterThan(100);
  await payoutsOn(s).checkBooks();
});
