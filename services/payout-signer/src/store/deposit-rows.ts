import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { Db } from '@opentill/db/database';
import type { Family } from '@opentill/domain/chains';

export interface DepositRow {
  readonly family: Family;
  readonly address: Address;
  readonly index: number;
  readonly orderPk: string;
  /** Text of the database: JavaScript's Date loses microseconds. */
  readonly createdAt: string;
}

/** Younger rows are not read in creation order: an earlier transaction may still commit (the api: within 5 s). */
export const SETTLED_SECONDS = 6;

const COLUMNS = sql`family, address, derivation_index as index, order_pk as "orderPk", created_at::text as "createdAt"`;

/** In creation order; without `after`, the rows of the last `lookBackSeconds`. */
export async function readNewDeposits(
  db: Db,
  after: DepositRow | undefined,
  page: { readonly limit: number; readonly lookBackSeconds: number; readonly settledSeconds: number },
): Promise<readonly DepositRow[]> {
  const behind =
    after === undefined
      ? sql`created_at > now() - make_interval(secs => ${page.lookBackSeconds})`
      : sql`created_at >= ${after.createdAt}::timestamptz
          and (created_at, family, derivation_index) > (${after.createdAt}::timestamptz, ${after.family}, ${after.index}::bigint)`;
  const { rows } = await sql<DepositRow>`
    select ${COLUMNS} from deposit_address
    where ${behind} and created_at <= now() - make_interval(secs => ${page.settledSeconds})
    order by created_at, family, derivation_index limit ${page.limit}`.execute(db);
  return rows;
}

/** By family and index; without `after`, from the first row. */
export async function readDepositsByIndex(
  db: Db,
  after: DepositRow | undefined,
  limit: number,
): Promise<readonly DepositRow[]> {
  const behind =
    after === undefined
      ? sql`true`
      : sql`(family, derivation_index) > (${after.family}, ${after.index}::bigint)`;
  const { rows } = await sql<DepositRow>`
    select ${COLUMNS} from deposit_address where ${behind} order by family, derivation_index limit ${limit}`.execute(
    db,
  );
  return rows;
}

export async function saveForeignDeposit(db: Db, row: DepositRow): Promise<void> {
  await sql`
    insert into foreign_deposit_address (family, address, derivation_index, order_pk)
    values (${row.family}, ${row.address}, ${row.index}, ${row.orderPk}) on conflict do nothing`.execute(db);
}
