import { toPortableText } from '@opentill/contracts/signing/callback';
import { committed, type HandlerDeps } from './handlers/settle-event.ts';
import type { OperatorDecision } from './settle-order.ts';
import { isolates, settleOrders } from './settle-orders.ts';
import { closeDecision, takeOldestDecision, type OpenDecision } from './store/decisions.ts';
import { ordersByKey } from './store/lock-orders.ts';

/** Used if the operator's reason has no portable characters. */
const REFUSED = 'Refused by operator';

/**
 * In the order in which operators made the decisions, each in its own transaction. Decisions that the order's state
 * does not allow are closed as NOT_POSSIBLE. So are decisions on payouts, which are stopped by a veto.
 * @returns number of decisions closed
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
    const decision = await takeOldestDecision(tx, orderPk);
    if (decision === undefined) return { outcomes: [], closed: false };
    const decisions = new Map([[orderPk, toDecision(decision)]]);
    const { transfer_id: transferId } = decision;
    const selected = ordersByKey([orderPk], transferId === null ? [] : [transferId]);
    const settled = await settleOrders(tx, deps, selected, { decisions });
    // Not derived from the order's status: a payment in time also leads to SUCCESS, without the operator's decision.
    const done = settled.some(({ isDecided }) => isDecided);
    await closeDecision(tx, decision, { at: deps.clock.now(), outcome: done ? 'DONE' : 'NOT_POSSIBLE' });
    return { outcomes: settled, closed: true };
  });
  committed(deps, outcomes);
  return closed;
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
  const plain = { decision, reason: toPortableText(reason).trim() || REFUSED };
  return transferId === null || symbol === null || amount === null || worth === null
    ? plain
    : { ...plain, otherMoney: { transferId, symbol, amount, worth } };
}
