import { connectToPrimary } from '@opentill/db/find-primary';
import { SERVICE_SCHEMAS } from '@opentill/db/service-schema';
import { GatewayError } from '@opentill/domain/gateway-error';

export type ResetDatabaseErrorCode = 'DATABASE_NOT_OURS';

/** Comment that marks a database as safe to empty. */
const MARK = 'opentill local profile: emptied at every start';

/** Empties only a database that is empty or marked by an earlier local run. Throws DATABASE_NOT_OURS. */
export async function resetGivenDatabase(url: string): Promise<void> {
  const client = await connectToPrimary({ connectionString: url, application_name: 'opentill-local' });
  try {
    const { rows } = await client.query<{ name: string; mark: string | null; tables: number }>(`
      select quote_ident(current_database()) as name,
        (select shobj_description(oid, 'pg_database') from pg_database where datname = current_database()) as mark,
        (select count(*)::int from pg_class join pg_namespace n on n.oid = relnamespace
          where relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema')
            and n.nspname not like 'pg_toast%' and n.nspname not like 'pg_temp%') as tables`);
    const { name = '', mark = null, tables = 0 } = rows[0] ?? {};
    if (tables > 0 && mark !== MARK) {
      throw new GatewayError<ResetDatabaseErrorCode>(
        'DATABASE_NOT_OURS',
        `The database ${name} of DATABASE_URL has ${tables} tables that no earlier npm start created. Use an empty database, or keep the data with "npm start -- --keep".`,
        { retryable: false },
      );
    }
    const schemas = ['public', ...SERVICE_SCHEMAS]
      .map((schema) => client.escapeIdentifier(schema))
      .join(', ');
    await client.query(`drop schema if exists ${schemas} cascade`);
    await client.query('create schema public');
    await client.query(`comment on database ${name} is ${client.escapeLiteral(MARK)}`);
  } finally {
    await client.end();
  }
}
