import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { settleEvent, type HandlerDeps } from './settle-event.ts';

/** Transfers to deposit addresses were seen, or seen again in another block: their orders show them. */
export async function onTransferDetected(
  deps: HandlerDeps,
  envelope: EventEnvelope<'transfer.detected'>,
): Promise<void> {
  await settleEvent(deps, envelope, envelope.data.transferIds);
}
