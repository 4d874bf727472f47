import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import type { Database } from '../src/database.ts';
import { databaseFigures } from '../src/measure-database.ts';

let database: TestDatabase;
let tracker: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  tracker = database.open('tracker');
});
afterAll(async () => {
  await tracker.close();
  await database.drop();
});

test('reads connections, size and transaction age as a service', async () => {
  const { connections, connectionsMax, bytes, transactionIdAge } = await databaseFigures(tracker.kysely);
  const roles = [...connections].filter(([role]) => role.includes('tracker'));
  expect(roles.reduce((sum, [, count]) => sum + count, 0)).toBeGreaterThan(0);
  expect(connectionsMax).toBeGreaterThan(10);
  expect(bytes).toBeGreaterThan(1_000_000);
  expect(transactionIdAge).toBeGreaterThan(0);
});
