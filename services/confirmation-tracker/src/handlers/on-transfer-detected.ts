import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { settleEvent, type HandlerDeps } from './settle-event.ts';

export async function onTransferDetected(
  deps: HandlerDeps,
  envelope: EventEnvelope<'transfer.detected'>,
): Promise<void> {
  await settleEvent(deps, envelope, envelope.data.transferIds);
}
