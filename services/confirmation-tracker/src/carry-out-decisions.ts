import { sql } from 'kysely';
import { toPortableText } from '@opentill/contracts/signing/callback';
import type { Db, Tx } from '@opentill/db/database';
import type { BaseUnits } from '@opentill/domain/money';
import { committed, type HandlerDeps } from './handlers/settle-event.ts';
import type { OperatorDecision } from './settle-order.ts';
import { isolates, settleOrders } from './settle-orders.ts';
import { ordersByKey } from './store.ts';

interface OpenDecision {
  readonly decision_id: string;
  readonly order_pk: string;
  readonly decision: 'ACCEPT' | 'REFUSE';
  readonly reason: string;
  /** Of another token or chain than its order's, as the operator saw it. */
  readonly transfer_id: number | null;
  readonly transfer_symbol: string | null;
  readonly transfer_amount: bigint | null;
  readonly worth: BaseUnits | null;
}

const DECISIONS_AT_ONCE = 100;
/** What the merchant is told where the operator's own words come to nothing. */
const REFUSED = 'Refused by operator';

/** Orders with decisions of operators that nobody has carried out; the oldest first. */
export async function findDecidedOrders(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ order_pk: string }>`
    select order_pk from order_decision where handled_at is null
    order by decided_at, decision_id limit ${DECISIONS_AT_ONCE}`.execute(db);
  return [...new Set(rows.map((row) => row.order_pk))];
}

/**
 * Carries out what operators decided of these orders, each in a transaction of its own, decision by decision in the order in
 * which they were made. What the state of the order does not allow (any more) is closed as NOT_POSSIBLE, also a decision
 * on a payout, which is stopped by a veto.
 * @returns how many decisions were closed
 */
export async function carryOutDecisions(deps: HandlerDeps, orderPks: readonly string[]): Promise<number> {
  let closed = 0;
  for (const orderPk of orderPks) {
    try {
      while (await carryOutOldest(deps, orderPk)) closed += 1;
    } catch (error) {
      if (!isolates(error)) throw error;
      deps.observe.notSettled({ orderPk }, error);
    }
  }
  return closed;
}

async function carryOutOldest(deps: HandlerDeps, orderPk: string): Promise<boolean> {
  const { outcomes, closed } = await deps.db.transaction().execute(async (tx) => {
    const decision = await takeOldest(tx, orderPk);
    if (decision === undefined) return { outcomes: [], closed: false };
    const decisions = new Map([[orderPk, toDecision(decision)]]);
    const { transfer_id: transferId } = decision;
    const selected = ordersByKey([orderPk], transferId === null ? [] : [transferId]);
    const settled = await settleOrders(tx, deps, selected, { decisions });
    // Not by the order's status: what came in time after all makes it SUCCESS as well, without what the operator meant.
    const done = settled.some(({ isDecided }) => isDecided);
    await sql`update order_decision set handled_at = ${deps.clock.now()}, outcome = ${done ? 'DONE' : 'NOT_POSSIBLE'}
      where decision_id = ${decision.decision_id}`.execute(tx);
    return { outcomes: settled, closed: true };
  });
  committed(deps, outcomes);
  return closed;
}

/** Locked, so that of two replicas one carries it out and the other finds it done. */
async function takeOldest(tx: Tx, orderPk: string): Promise<OpenDecision | undefined> {
  const { rows } = await sql<OpenDecision>`
    select decision_id, order_pk, decision, reason, transfer_id, transfer_symbol, transfer_amount, worth from order_decision
    where order_pk = ${orderPk} and handled_at is null
    order by decided_at, decision_id limit 1 for no key update`.execute(tx);
  return rows[0];
}

function toDecision(open: OpenDecision): OperatorDecision {
  const {
    decision,
    reason,
    transfer_id: transferId,
    transfer_symbol: symbol,
    transfer_amount: amount,
    worth,
  } = open;
  const said = { decision, reason: toPortableText(reason).trim() || REFUSED };
  return transferId === null || symbol === null || amount === null || worth === null
    ? said
    : { ...said, otherMoney: { transferId, symbol, amount, worth } };
}
