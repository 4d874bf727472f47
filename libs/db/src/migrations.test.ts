import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONCURRENTLY } from './migrate.ts';
import { isBeforeRelease, MIGRATIONS, readMigrations } from './migrations.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-migrations-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('reads files and folders as migrations in the order of their names', () => {
  mkdirSync(join(folder, '0001-first'));
  writeFileSync(join(folder, '0001-first', '02-b.sql'), 'select 2;\n');
  writeFileSync(join(folder, '0001-first', '01-a.sql'), 'select 1;\n-- step\n');
  writeFileSync(join(folder, '0003-steps.sql'), 'select 3;\n\n-- step\nselect 4;\n');
  writeFileSync(join(folder, '0002-one.sql'), '-- a step is no line of its own here\nselect 5;\n');
  writeFileSync(join(folder, '0002-one.sql.orig'), 'select 6;\n');
  expect(readMigrations(pathToFileURL(`${folder}/`))).toEqual([
    { name: '0001-first', sql: 'select 1;\n-- step\n\nselect 2;\n' },
    { name: '0002-one', sql: '-- a step is no line of its own here\nselect 5;\n' },
    { name: '0003-steps', sql: ['select 3;\n\n', 'select 4;\n'] },
  ]);
});

test('reads the baseline as one transaction', () => {
  const [baseline] = MIGRATIONS;
  expect(baseline?.name).toBe('0001-baseline');
  expect(typeof baseline?.sql).toBe('string');
  expect(isBeforeRelease(MIGRATIONS)).toBe(false);
});

test.each([
  ['create index concurrently a on b (c)', 'create index a on b (c)'],
  ['-- why\n\ncreate unique index concurrently a on b (c)', '-- why\n\ncreate unique index a on b (c)'],
  ['create index a on b (concurrently)', 'create index a on b (concurrently)'],
  ["select 'create index concurrently'", "select 'create index concurrently'"],
])('finds a concurrent index in %j', (step, made) => {
  expect(step.replace(CONCURRENTLY, '$1')).toBe(made);
});
