import { afterAll, beforeAll, expect, test } from 'vitest';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { Database } from '../src/database.ts';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { dumpSchema } from './dump-schema.ts';

const GOLDEN = new URL('../golden/schema.txt', import.meta.url);

let testDatabase: TestDatabase;
let admin: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = testDatabase.open('admin');
});
afterAll(async () => {
  await admin.close();
  await testDatabase.drop();
});

test('golden: schema.txt matches the migrated schema (UPDATE_GOLDEN=1 rewrites it)', async () => {
  const schema = await dumpSchema(admin.kysely);
  if (process.env['UPDATE_GOLDEN'] === '1') {
    await mkdir(new URL('.', GOLDEN), { recursive: true });
    await writeFile(GOLDEN, schema);
  }
  expect(schema).toBe(await readFile(GOLDEN, 'utf8'));
});
