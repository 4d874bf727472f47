import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import { payoutsOfTransactions } from '../store/payouts.ts';
import type { HandlerDeps } from './settle-event.ts';
import { settleCancels, settlePayoutEvent } from './settle-payout-event.ts';

export async function onFateChanged(
  deps: HandlerDeps,
  envelope: EventEnvelope<'fate.changed'>,
): Promise<void> {
  const { chain, txHashes } = envelope.data;
  await settlePayoutEvent(deps, envelope, payoutsOfTransactions(chain, txHashes), (tx) =>
    settleCancels(tx, deps, chain, txHashes),
  );
}
