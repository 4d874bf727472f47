import type pg from 'pg';
import { SERVICE_SCHEMAS } from '../service-schema.ts';
import { backupError } from './backup-error.ts';

export interface KeptTable {
  readonly name: string;
  readonly columns: readonly string[];
}

const SCHEMAS = ['public', ...SERVICE_SCHEMAS];
/** `written_by` differs after a restore, so a restored row is closed. Migrations create the excluded table. */
const LEFT_OUT_COLUMNS: Readonly<Record<string, readonly string[]>> = { ledger_transaction: ['written_by'] };
const LEFT_OUT_TABLES = ['schema_migration'];

/**
 * Lists referenced tables first, and no unlogged ones. @throws GatewayError BACKUP_NOT_POSSIBLE for a reference cycle
 */
export async function describeTables(client: pg.ClientBase): Promise<readonly KeptTable[]> {
  const { rows } = await client.query<{ name: string; columns: string[]; refers: string[] }>(
    `select c.oid::regclass::text as name,
       array(select a.attname::text from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
       array(select distinct f.confrelid::regclass::text from pg_constraint f
         where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid and f.conparentid = 0) as refers
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any($1) and c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p'
       and c.relname <> all($2)
     order by 1`,
    [SCHEMAS, LEFT_OUT_TABLES],
  );
  const left = new Map(rows.map((row) => [row.name, row]));
  const ordered: KeptTable[] = [];
  while (left.size > 0) {
    const free = [...left.values()].filter(({ refers }) => !refers.some((other) => left.has(other)));
    if (free.length === 0)
      throw backupError(
        'BACKUP_NOT_POSSIBLE',
        `tables refer to each other in a circle: ${[...left.keys()].join(', ')}`,
      );
    for (const { name, columns } of free) {
      const leftOut = LEFT_OUT_COLUMNS[name] ?? [];
      ordered.push({ name, columns: columns.filter((column) => !leftOut.includes(column)) });
      left.delete(name);
    }
  }
  return ordered;
}

export async function listSequences(client: pg.ClientBase): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any($1) and c.relkind = 'S' order by 1`,
    [SCHEMAS],
  );
  return rows.map(({ name }) => name);
}
