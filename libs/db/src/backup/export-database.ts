import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { translateDatabaseError } from '../database-error.ts';
import { connectToPrimary } from '../find-primary.ts';
import { FAMILIES } from '@opentill/domain/chains';
import { backupError } from './backup-error.ts';
import { describeTables, listSequences, type KeptTable } from './describe-tables.ts';
import type { FamilyMarks, Manifest, SequenceEntry, TableEntry } from './manifest.ts';

export type ExportedDatabase = Pick<
  Manifest,
  'takenAt' | 'postgresVersion' | 'migrations' | 'tables' | 'sequences' | 'families'
>;

const OWNER_ONLY = 0o600;
/** Three times as fast as the default level. Ids and hashes compress hardly better at a higher one. */
const COMPRESSION_LEVEL = 3;
const APPLICATION = 'opentill-backup';
const TABLES = 'tables';

/**
 * Copies one snapshot as COPY text, which is the same in all Postgres versions. The gateway keeps running: only
 * migrations wait, and the removal of old partitions is retried. Sequences are read last, so that none is lower than a
 * value used in the snapshot. @throws GatewayError BACKUP_NOT_POSSIBLE or a DatabaseErrorCode
 */
export async function exportDatabase(adminUrl: string, directory: string): Promise<ExportedDatabase> {
  const client = await connectToPrimary({ connectionString: adminUrl, application_name: APPLICATION });
  try {
    await client.query(
      "set search_path = public, pg_temp; set timezone = 'UTC'; set datestyle = 'ISO'; set extra_float_digits = 3",
    );
    await client.query('begin isolation level repeatable read read only');
    const { rows } = await client.query<{ at: Date; version: string; gateway: boolean }>(
      `select clock_timestamp() as at, current_setting('server_version') as version,
         to_regclass('public.schema_migration') is not null as gateway`,
    );
    const [state] = rows;
    if (state?.gateway !== true)
      throw backupError(
        'BACKUP_NOT_POSSIBLE',
        'the database does not belong to a gateway: it has no migrations',
      );
    const { rows: migrations } = await client.query<{ name: string; checksum: string }>(
      'select name, checksum from schema_migration order by name',
    );
    const tables: TableEntry[] = [];
    for (const [place, table] of (await describeTables(client)).entries())
      tables.push(await exportTable(client, directory, table, place));
    const peaks = await readPeaks(client);
    const sequences = await readSequences(client);
    return {
      takenAt: state.at.toISOString(),
      postgresVersion: state.version,
      migrations,
      tables,
      sequences,
      families: Object.fromEntries(
        FAMILIES.map((family): [string, FamilyMarks] => [
          family,
          { nextIndex: nextOf(sequences, family), peakPerHour: peaks.get(family) ?? 0 },
        ]),
      ) as ExportedDatabase['families'],
    };
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function exportTable(
  client: pg.Client,
  directory: string,
  { name, columns }: KeptTable,
  place: number,
): Promise<TableEntry> {
  const file = `${TABLES}/${String(place).padStart(2, '0')}-${name.replaceAll(/[^a-z_.]/g, '')}.copy.gz`;
  const list = columns.map((column) => client.escapeIdentifier(column)).join(', ');
  // A query, because Postgres before 18 rejects COPY of a partitioned table by name.
  const rows = client.query(copyTo(`copy (select ${list} from ${name}) to stdout`));
  const path = join(directory, file);
  const lines = countLines();
  const out = createWriteStream(path, { mode: OWNER_ONLY, flags: 'wx' });
  await pipeline(rows, lines.stream, createGzip({ level: COMPRESSION_LEVEL }), out);
  await syncFile(path);
  return { name, columns, rows: lines.count(), file };
}

/** In COPY text each row is one line, because line breaks in values are escaped. */
function countLines(): { readonly stream: Transform; count(): number } {
  let count = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) count += 1;
      done(null, chunk);
    },
  });
  return { stream, count: () => count };
}

async function readPeaks(client: pg.Client): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ family: string; peak: string }>(
    `select family, max(n) as peak from (
       select family, date_trunc('hour', created_at) as hour, count(*) as n from deposit_address group by 1, 2) hours
     group by family`,
  );
  return new Map(rows.map(({ family, peak }) => [family, Number(peak)]));
}

async function readSequences(client: pg.Client): Promise<readonly SequenceEntry[]> {
  const sequences: SequenceEntry[] = [];
  for (const name of await listSequences(client)) {
    const { rows } = await client.query<{ last: string; called: boolean }>(
      `select last_value::text as last, is_called as called from ${name}`,
    );
    sequences.push({ name, lastValue: rows[0]?.last ?? '0', isCalled: rows[0]?.called ?? false });
  }
  return sequences;
}

function nextOf(sequences: readonly SequenceEntry[], family: string): number {
  const found = sequences.find(({ name }) => name === depositSequence(family));
  if (found === undefined)
    throw backupError('BACKUP_NOT_POSSIBLE', `the sequence of ${family} deposit indexes is missing`);
  return Number(found.lastValue) + (found.isCalled ? 1 : 0);
}

export function depositSequence(family: string): string {
  return `deposit_index_${family.toLowerCase()}`;
}

export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
