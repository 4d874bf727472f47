import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { settleEvent, type HandlerDeps } from './settle-event.ts';

export interface BlockVerifiedDeps extends HandlerDeps {
  /** Wakes the poll for orders that are due by chain time or depth. */
  readonly wakeDueSweep: () => void;
}

/**
 * The verified cursor moves with the head and the chain's time, so this event also covers expiry and orders that need
 * more depth. A block without our transfers writes no inbox row: waking the poll is idempotent.
 */
export async function onBlockVerified(
  deps: BlockVerifiedDeps,
  envelope: EventEnvelope<'block.verified'>,
): Promise<void> {
  const { transferIds } = envelope.data;
  if (transferIds.length > 0) await settleEvent(deps, envelope, transferIds);
  deps.wakeDueSweep();
}
