import { expect, test } from 'vitest';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { dumpSchema } from './dump-schema.ts';

const GOLDEN = new URL('../golden/schema.txt', import.meta.url);

const { admin } = await openTestDatabase();

test('golden: schema.txt matches the migrated schema (UPDATE_GOLDEN=1 rewrites it)', async () => {
  const schema = await dumpSchema(admin.kysely);
  if (process.env['UPDATE_GOLDEN'] === '1') {
    await mkdir(new URL('.', GOLDEN), { recursive: true });
    await writeFile(GOLDEN, schema);
  }
  expect(schema).toBe(await readFile(GOLDEN, 'utf8'));
});
