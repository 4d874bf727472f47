import { sql } from 'kysely';
import type { Db } from '../src/database.ts';

/* Read from the catalog and not by pg_dump, so that one golden file fits every Postgres from 15 on. */
const USER_SCHEMAS = sql`n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`;

async function lines(db: Db, query: ReturnType<typeof sql<{ line: string }>>): Promise<string> {
  const { rows } = await query.execute(db);
  return rows.map((row) => row.line).join('\n');
}

export async function dumpSchema(db: Db): Promise<string> {
  const sections: [string, string][] = [
    [
      'schemas',
      await lines(
        db,
        sql`select format('%s [%s]', n.nspname, array_to_string(array(select unnest(n.nspacl)::text order by 1), ' ')) as line
          from pg_namespace n where ${USER_SCHEMAS} order by n.nspname`,
      ),
    ],
    [
      'columns',
      await lines(
        db,
        sql`select format('%s.%s.%s %s%s%s%s', n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
            case when a.attnotnull then ' not null' else '' end,
            case a.attidentity when 'a' then ' identity always' when 'd' then ' identity by default' else '' end,
            coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')) as line
          from pg_class c join pg_namespace n on n.oid = c.relnamespace
          join pg_attribute a on a.attrelid = c.oid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
          where c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped and ${USER_SCHEMAS}
          order by n.nspname, c.relname, a.attnum`,
      ),
    ],
    [
      'constraints',
      await lines(
        db,
        // Not-null constraints have rows of their own from Postgres 18 on; the columns above show them.
        sql`select format('%s.%s %s %s', n.nspname, c.relname, o.conname, pg_get_constraintdef(o.oid)) as line
          from pg_constraint o join pg_class c on c.oid = o.conrelid join pg_namespace n on n.oid = c.relnamespace
          where o.contype <> 'n' and ${USER_SCHEMAS} order by n.nspname, c.relname, o.conname`,
      ),
    ],
    [
      'indexes',
      await lines(
        db,
        sql`select pg_get_indexdef(i.indexrelid) as line
          from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
          where ${USER_SCHEMAS} order by n.nspname, c.relname`,
      ),
    ],
    [
      'tables and views: persistence, row security, partitioning, options',
      await lines(
        db,
        sql`select format('%s.%s %s%s%s', n.nspname, c.relname, c.relpersistence,
            case when c.relrowsecurity then ' row security' else '' end,
            coalesce(' ' || pg_get_partkeydef(c.oid), '') || coalesce(' ' || pg_get_expr(c.relpartbound, c.oid), '')
              || coalesce(' ' || c.reloptions::text, '')) as line
          from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'p', 'v') and ${USER_SCHEMAS} order by n.nspname, c.relname`,
      ),
    ],
    [
      'sequences',
      await lines(
        db,
        sql`select format('%s.%s %s from %s to %s%s', schemaname, sequencename, data_type, min_value, max_value,
            case when cycle then ' cycle' else '' end) as line
          from pg_sequences order by schemaname, sequencename`,
      ),
    ],
    [
      'triggers',
      await lines(
        db,
        sql`select pg_get_triggerdef(t.oid) as line
          from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
          where not t.tgisinternal and ${USER_SCHEMAS} order by n.nspname, c.relname, t.tgname`,
      ),
    ],
    [
      'policies',
      await lines(
        db,
        sql`select format('%s.%s %s %s to %s using (%s) check (%s)', schemaname, tablename, policyname, cmd, roles, qual,
            with_check) as line
          from pg_policies order by schemaname, tablename, policyname`,
      ),
    ],
    [
      'functions',
      await lines(
        db,
        sql`select format(E'%s.%s(%s) returns %s%s%s\n%s', n.nspname, p.proname, pg_get_function_arguments(p.oid),
            pg_get_function_result(p.oid), case when p.prosecdef then ' security definer' else '' end,
            coalesce(' ' || p.proconfig::text, ''), p.prosrc) as line
          from pg_proc p join pg_namespace n on n.oid = p.pronamespace where ${USER_SCHEMAS} order by n.nspname, p.proname`,
      ),
    ],
    [
      'grants',
      await lines(
        db,
        sql`with acls as (
            select n.nspname || '.' || c.relname as object, c.relacl as acl, c.relowner as owner
            from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${USER_SCHEMAS}
            union all
            select n.nspname || '.' || c.relname || '.' || a.attname, a.attacl, c.relowner
            from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
            where ${USER_SCHEMAS}
            union all
            select n.nspname || '.' || p.proname || '()', coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner
            from pg_proc p join pg_namespace n on n.oid = p.pronamespace where ${USER_SCHEMAS}
          )
          select format('%s: %s %s', object, case when x.grantee = 0 then 'PUBLIC' else pg_get_userbyid(x.grantee) end,
            string_agg(lower(x.privilege_type), ', ' order by x.privilege_type)) as line
          from acls, aclexplode(acl) x where x.grantee <> owner
          group by object, x.grantee order by object collate "C", 1`,
      ),
    ],
  ];
  const owner = (await sql<{ owner: string }>`select current_user as owner`.execute(db)).rows[0]?.owner ?? '';
  const text = sections.map(([title, body]) => `-- ${title}\n${body}\n`).join('\n');
  return text.replaceAll(new RegExp(`\\b${owner}(=|/)|/${owner}\\b`, 'g'), (match) =>
    match.replace(owner, 'OWNER'),
  );
}
