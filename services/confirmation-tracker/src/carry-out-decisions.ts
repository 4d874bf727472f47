import { toPortableText } from '@opentill/contracts/signing/callback';
import { committed, type HandlerDeps } from './handlers/settle-event.ts';
import type { OperatorDecision } from './settle-order.ts';
import { isolates, settleOrders } from './settle-orders.ts';
import { closeDecision, takeOldestDecision, type OpenDecision } from './store/decisions.ts';
import { ordersByKey } from './store/lock-orders.ts';

/** What the merchant is told where the operator's own words come to nothing. */
const REFUSED = 'Refused by operator';

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
    const decision = await takeOldestDecision(tx, orderPk);
    if (decision === undefined) return { outcomes: [], closed: false };
    const decisions = new Map([[orderPk, toDecision(decision)]]);
    const { transfer_id: transferId } = decision;
    const selected = ordersByKey([orderPk], transferId === null ? [] : [transferId]);
    const settled = await settleOrders(tx, deps, selected, { decisions });
    // Not by the order's status: what came in time after all makes it SUCCESS as well, without what the operator meant.
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
  const said = { decision, reason: toPortableText(reason).trim() || REFUSED };
  return transferId === null || symbol === null || amount === null || worth === null
    ? said
    : { ...said, otherMoney: { transferId, symbol, amount, worth } };
}
