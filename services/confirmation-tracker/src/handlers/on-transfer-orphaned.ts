import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { settleEvent, type HandlerDeps } from './settle-event.ts';

/** Opens an incident if the transfers were credited. */
export async function onTransferOrphaned(
  deps: HandlerDeps,
  envelope: EventEnvelope<'transfer.orphaned'>,
): Promise<void> {
  await settleEvent(deps, envelope, envelope.data.transferIds);
}
