import { carryOutDecisions } from './carry-out-decisions.ts';
import type { HandlerDeps } from './handlers/settle-event.ts';
import { findDecidedOrders } from './store/decisions.ts';

/** Their events were lost. @returns 'again' if there may be more */
export async function sweepDecisions(deps: HandlerDeps): Promise<void | 'again'> {
  const closed = await carryOutDecisions(deps, await findDecidedOrders(deps.db));
  return closed > 0 ? 'again' : undefined;
}
