import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { settleEvent, type HandlerDeps } from './settle-event.ts';

export interface BlockVerifiedDeps extends HandlerDeps {
  /** Has the orders looked at that the chain's time or head moves: expired ones, those that reached their depth. */
  readonly wakeDueSweep: () => void;
}

/**
 * The verified cursor of a chain moved: the transfers it verified are booked and credited.
 *
 * It moved because the head did (or the finalized height), and the chain's time with it. So this event is also the
 * one wake-up for expiry and for orders that wait for more depth than the cursor's: no look at every head is needed.
 * A block without transfers of ours costs no inbox row: the wake-up alone has no effect to repeat.
 */
export async function onBlockVerified(
  deps: BlockVerifiedDeps,
  envelope: EventEnvelope<'block.verified'>,
): Promise<void> {
  const { transferIds } = envelope.data;
  if (transferIds.length > 0) await settleEvent(deps, envelope, transferIds);
  deps.wakeDueSweep();
}
