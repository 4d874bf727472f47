import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { SERVICE_ROLES, serviceRole } from '@opentill/db/service-schema';

export interface DatabaseState {
  readonly currentRole: string;
  /** For example 150004. */
  readonly versionNumber: number;
  /** Undefined: no migration was ever applied. */
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[] | undefined;
  readonly roles: readonly string[];
}

export async function readDatabaseState(db: Db): Promise<DatabaseState> {
  const wanted = SERVICE_ROLES.map(serviceRole);
  const { rows } = await sql<{ role: string; version: number; roles: string[]; migrated: boolean }>`
    select current_user::text as role, current_setting('server_version_num')::int as version,
      array(select rolname::text from pg_roles where rolname = any(${wanted}) order by 1) as roles,
      to_regclass('public.schema_migration') is not null as migrated`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new TypeError('a query without from has a row');
  const migrations = row.migrated
    ? (
        await sql<{
          name: string;
          checksum: string;
        }>`select name, checksum from public.schema_migration`.execute(db)
      ).rows
    : undefined;
  return { currentRole: row.role, versionNumber: row.version, roles: row.roles, migrations };
}
