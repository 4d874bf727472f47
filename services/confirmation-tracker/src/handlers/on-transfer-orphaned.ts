import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { settleEvent, type HandlerDeps } from './settle-event.ts';

/** A reorganisation took transfers back: their orders step back, or, when they were credited, there is an incident. */
export async function onTransferOrphaned(
  deps: HandlerDeps,
  envelope: EventEnvelope<'transfer.orphaned'>,
): Promise<void> {
  await settleEvent(deps, envelope, envelope.data.transferIds);
}
