import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

/** A fault built into the running gateway, underneath its processes, and what the checker must say of it. */
export interface Sabotage {
  readonly name: string;
  readonly isNamed: RegExp;
  /** `db` as its owner. */
  commit(db: Db): Promise<void>;
}

/** A scanner and a sender that write wrongly; the tracker's and the books' faults are among the doctored facts. */
export const SABOTAGES: readonly Sabotage[] = [
  {
    name: 'a scanner that reads one unit too much',
    isNamed: /sabotaged-\d+: the actual amount is \d+, must be \d+/,
    commit: async (db) => alter(db, 'transfer', 'insert or update', 'new.amount := new.amount + 1;'),
  },
  {
    name: 'a sender that takes for delivered what it never sent',
    isNamed: /sabotaged-\d+: callback ORDER_SUCCESS \([^)]+\) never came/,
    commit: async (db) =>
      alter(db, 'delivery', 'insert', `new.state := 'DELIVERED'; new.finished_at := now();`),
  },
];

/** Changes rows on their way into a table, whoever writes them. */
async function alter(db: Db, table: string, event: string, change: string): Promise<void> {
  const name = `sabotage_${table}`;
  await sql
    .raw(
      `create function ${name}() returns trigger language plpgsql as $$ begin ${change} return new; end $$;
       create trigger ${name} before ${event} on ${table} for each row execute function ${name}();`,
    )
    .execute(db);
}
