import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '@opentill/db/database';
import { createCrashingDatabase, type CrashingDatabase } from './crashing-database.ts';
import { runUndisturbed, runWithCrashAt } from './collection-lifecycle.ts';
import { createTrackerScenario, handle, type TrackerScenario } from './tracker-scenario.ts';

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

test('ends as if undisturbed after a crash before or after any statement', async () => {
  const undisturbed = await runUndisturbed(s, handle);
  const seen: string[] = [];
  for (let point = 1; ; point += 1) {
    const disturbed = await runWithCrashAt(s, crashing, point, handle);
    if (crashing.crashedAt === undefined) break;
    seen.push(crashing.crashedAt);
    expect({ point, at: crashing.crashedAt, outcome: disturbed }).toEqual({
      point,
      at: crashing.crashedAt,
      outcome: undisturbed,
    });
  }
  const effects = ['insert into "tracker"."inbox"', 'with given as', 'with entry as'];
  for (const effect of ['begin', ...effects, 'commit']) {
    expect(seen.some((where) => where.startsWith(`before ${effect}`))).toBe(true);
    expect(seen.some((where) => where.startsWith(`after ${effect}`))).toBe(true);
  }
  expect(seen.length).toBeGreaterThan(70);
}, 600_000);
