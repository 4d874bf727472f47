import type { EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import { handleOnce, type InboxKey } from '@opentill/db/inbox';
import type { Observe } from '../observe.ts';
import type { OrderOutcome } from '../store/order-rows.ts';
import { isolates, settleOrders } from '../settle-orders.ts';
import type { SettlePayoutDeps } from '../settle-payouts.ts';
import { ordersOfTransfers } from '../store/lock-orders.ts';

export interface HandlerDeps extends SettlePayoutDeps {
  readonly observe: Observe;
  /** Call after a commit that appended events: publishes them now. */
  readonly wakeRelay: () => void;
}

/**
 * One transaction with the event's inbox row. Transfer states are read from the database, not from the event, so late
 * and duplicate events change no state.
 *
 * If one order fails, the others are settled in separate transactions. The event then fails and is dead-lettered.
 */
export async function settleEvent(
  deps: HandlerDeps,
  envelope: EventEnvelope<EventType>,
  transferIds: readonly string[],
): Promise<void> {
  try {
    const outcome = await handleOnce(deps.db, inboxKeyOf(envelope), (tx) =>
      settleOrders(tx, deps, ordersOfTransfers(transferIds)),
    );
    if (outcome.handled) committed(deps, outcome.result);
  } catch (error) {
    if (transferIds.length > 1 && isolates(error)) await settleEach(deps, transferIds);
    throw error;
  }
}

export function inboxKeyOf({ type, id }: EventEnvelope<EventType>): InboxKey {
  return { schema: 'tracker', consumer: type, eventId: id };
}

/** Failures are reported, not thrown. */
export async function settleEach(
  deps: HandlerDeps,
  transferIds: readonly (string | number)[],
): Promise<void> {
  for (const transferId of transferIds) {
    try {
      await settleTransfers(deps, [transferId]);
    } catch (error) {
      if (!isolates(error)) throw error;
      deps.observe.notSettled({ transferId }, error);
    }
  }
}

export async function settleTransfers(
  deps: HandlerDeps,
  transferIds: readonly (string | number)[],
): Promise<void> {
  const outcomes = await deps.db
    .transaction()
    .execute((tx) => settleOrders(tx, deps, ordersOfTransfers(transferIds)));
  committed(deps, outcomes);
}

/** Call after the transaction of these outcomes has committed. */
export function committed(
  deps: Pick<HandlerDeps, 'observe' | 'wakeRelay'>,
  outcomes: readonly OrderOutcome[],
): void {
  if (outcomes.some((outcome) => outcome.notifications.length > 0)) deps.wakeRelay();
  for (const outcome of outcomes) {
    const { span } = outcome;
    if (span === undefined) deps.observe.orderSettled(outcome);
    else span.run(() => deps.observe.orderSettled(outcome));
    span?.end();
  }
}
