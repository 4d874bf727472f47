import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { settleEvent, type HandlerDeps } from './settle-event.ts';

/** A reorganisation orphaned transfers: moves their orders back, or opens an incident if they were credited. */
export async function onTransferOrphaned(
  deps: HandlerDeps,
  envelope: EventEnvelope<'transfer.orphaned'>,
): Promise<void> {
  await settleEvent(deps, envelope, envelope.data.transferIds);
}
