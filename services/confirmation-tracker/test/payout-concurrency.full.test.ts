import { afterAll, beforeAll } from 'vitest';
import type { Database } from '@opentill/db/database';
import { describePayoutReplicas } from './payout-replicas.ts';
import { payoutsOn, type Payouts } from './payout-scenario.ts';
import { createTrackerScenario, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
let p: Payouts;
let otherDatabase: Database;
beforeAll(async () => {
  s = await createTrackerScenario();
  p = payoutsOn(s);
  otherDatabase = s.database.open('tracker');
  await s.chainAt(200, 300);
});
afterAll(async () => {
  await p.checkBooks();
  await otherDatabase.close();
  await s.close();
});

describePayoutReplicas(() => ({ s, p, otherDatabase }), [1, 2]);
