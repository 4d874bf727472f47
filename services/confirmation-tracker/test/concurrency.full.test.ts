import { afterAll, beforeAll } from 'vitest';
import type { Database } from '@opentill/db/database';
import { createTrackerScenario, type TrackerScenario } from './tracker-scenario.ts';
import { describeTwoReplicas } from './two-replicas.ts';

let s: TrackerScenario;
let otherDatabase: Database;
beforeAll(async () => {
  s = await createTrackerScenario();
  otherDatabase = s.database.open('tracker');
});
afterAll(async () => {
  await otherDatabase.close();
  await s.close();
});

describeTwoReplicas(() => ({ s, otherDatabase }), [1, 2, 3, 4, 5, 6]);
