import { sql } from 'kysely';
import type { Db, Tx } from '@opentill/db/database';
import type { BaseUnits } from '@opentill/domain/money';

export interface OpenDecision {
  readonly decision_id: string;
  readonly order_pk: string;
  readonly decision: 'ACCEPT' | 'REFUSE';
  readonly reason: string;
  /** As the operator saw it. Its token or chain is not the order's. */
  readonly transfer_id: number | null;
  readonly transfer_symbol: string | null;
  readonly transfer_amount: bigint | null;
  readonly worth: BaseUnits | null;
}

const DECISIONS_AT_ONCE = 100;

/** Oldest decision first. */
export async function findDecidedOrders(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ order_pk: string }>`
    select order_pk from order_decision where handled_at is null
    order by decided_at, decision_id limit ${DECISIONS_AT_ONCE}`.execute(db);
  return [...new Set(rows.map((row) => row.order_pk))];
}

/** Locks the decision, so that only one replica carries it out. */
export async function takeOldestDecision(tx: Tx, orderPk: string): Promise<OpenDecision | undefined> {
  const { rows } = await sql<OpenDecision>`
    select decision_id, order_pk, decision, reason, transfer_id, transfer_symbol, transfer_amount, worth from order_decision
    where order_pk = ${orderPk} and handled_at is null
    order by decided_at, decision_id limit 1 for no key update`.execute(tx);
  return rows[0];
}

export async function closeDecision(
  tx: Tx,
  { decision_id: id }: Pick<OpenDecision, 'decision_id'>,
  { at, outcome }: { readonly at: Date; readonly outcome: 'DONE' | 'NOT_POSSIBLE' },
): Promise<void> {
  await sql`update order_decision set handled_at = ${at}, outcome = ${outcome} where decision_id = ${id}`.execute(
    tx,
  );
}
