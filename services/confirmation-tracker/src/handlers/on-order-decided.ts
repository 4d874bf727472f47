import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { carryOutDecisions } from '../carry-out-decisions.ts';
import type { HandlerDeps } from './settle-event.ts';

/** The decision row records completion, so no inbox row is needed. */
export async function onOrderDecided(
  deps: HandlerDeps,
  envelope: EventEnvelope<'order.decided'>,
): Promise<void> {
  await carryOutDecisions(deps, [envelope.data.orderPk]);
}
