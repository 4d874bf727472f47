import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import pg from 'pg';
import { resetGivenDatabase } from '../src/reset-database.ts';

const server = process.env['OPENTILL_TEST_DATABASE_URL'] ?? '';
const name = `reset_${randomBytes(6).toString('hex')}`;
const url = Object.assign(new URL(server), { pathname: `/${name}` }).toString();

async function query<Row extends pg.QueryResultRow>(connectionString: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

beforeEach(async () => query(server, `create database ${name}`));
afterEach(async () => query(server, `drop database ${name} with (force)`));

test('marks an empty database and empties it at the next start', async () => {
  await resetGivenDatabase(url);
  await query(
    url,
    'create table orders (id int); create schema tracker; create table tracker.outbox (id int)',
  );
  await resetGivenDatabase(url);
  expect(await query(url, `select 1 from pg_tables where schemaname in ('public', 'tracker')`)).toEqual([]);
});

test('does not change a database with foreign contents', async () => {
  await query(url, 'create table ledger (id int); insert into ledger values (1)');
  await expect(resetGivenDatabase(url)).rejects.toMatchObject({ code: 'DATABASE_NOT_OURS' });
  expect(await query(url, 'select id from ledger')).toEqual([{ id: 1 }]);
});
