import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { settleEvent, type HandlerDeps } from './settle-event.ts';

/** Transfers to deposit addresses were detected, or moved to another block: updates their orders. */
export async function onTransferDetected(
  deps: HandlerDeps,
  envelope: EventEnvelope<'transfer.detected'>,
): Promise<void> {
  await settleEvent(deps, envelope, envelope.data.transferIds);
}
