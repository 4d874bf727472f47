import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { payoutsByKey } from '../store/payouts.ts';
import type { HandlerDeps } from './settle-event.ts';
import { settlePayoutEvent } from './settle-payout-event.ts';

export async function onPayoutChanged(
  deps: HandlerDeps,
  envelope: EventEnvelope<'payout.changed'>,
): Promise<void> {
  await settlePayoutEvent(deps, envelope, payoutsByKey(envelope.data.orderPks));
}
