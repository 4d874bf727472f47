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

test('ends payouts as if undisturbed after a crash at any statement', async () => {
  const undisturbed = await runUndisturbed(s);
  const seen: string[] = [];
  for (let point = 1; ; point += 1) {
    const disturbed = await runWithCrashAt(s, crashing, point);
    if (crashing.crashedAt === undefined) break;
    seen.push(crashing.crashedAt);
    expect({ point, at: crashing.crashedAt, outcome: disturbed }).toEqual({
      point,
      at: crashing.crashedAt,
      outcome: undisturbed,
    });
  }
  const effects = [
    'insert into "tracker"."inbox"',
    'select expire_payouts',
    'select b.order_pk, (b.payout).state',
    'with given as',
    'select settle_network_fees',
    'update order_decision',
  ];
  for (const effect of ['begin', ...effects, 'commit']) {
    expect(seen.some((where) => where.startsWith(`before ${effect}`))).toBe(true);
    expect(seen.some((where) => where.startsWith(`after ${effect}`))).toBe(true);
  }
  expect(seen.length).toBeGreaterThan(100);
  await payoutsOn(s).checkBooks();
}, 600_000);
