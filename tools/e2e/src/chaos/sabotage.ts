import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

/** A fault in the database of a running gateway, and the problem that the checker must report. */
export interface Sabotage {
  readonly name: string;
  readonly isNamed: RegExp;
  /** `db` has the rights of the owner. */
  commit(db: Db): Promise<void>;
}

/** Faults of a scanner and a webhook-sender. DOCTORINGS cover faults of the tracker and the ledger. */
export const SABOTAGES: readonly Sabotage[] = [
  {
    name: 'a scanner that adds one unit to each amount',
    isNamed: /sabotaged-\d+: the actual amount is \d+, must be \d+/,
    commit: async (db) => alter(db, 'transfer', 'insert or update', 'new.amount := new.amount + 1;'),
  },
  {
    name: 'a webhook-sender that marks callbacks as delivered without sending them',
    isNamed: /sabotaged-\d+: callback ORDER_SUCCESS \([^)]+\) never arrived/,
    commit: async (db) =>
      alter(db, 'delivery', 'insert', `new.state := 'DELIVERED'; new.finished_at := now();`),
  },
];

async function alter(db: Db, table: string, event: string, change: string): Promise<void> {
  const name = `sabotage_${table}`;
  await sql
    .raw(
      `create function ${name}() returns trigger language plpgsql as $$ begin ${change} return new; end $$;
       create trigger ${name} before ${event} on ${table} for each row execute function ${name}();`,
    )
    .execute(db);
}
