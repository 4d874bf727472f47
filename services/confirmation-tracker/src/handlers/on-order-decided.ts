import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { carryOutDecisions } from '../carry-out-decisions.ts';
import type { HandlerDeps } from './settle-event.ts';

/** An operator accepted or refused an order. That it was carried out stands with the decision, so it needs no inbox row. */
export async function onOrderDecided(
  deps: HandlerDeps,
  envelope: EventEnvelope<'order.decided'>,
): Promise<void> {
  await carryOutDecisions(deps, [envelope.data.orderPk]);
}
