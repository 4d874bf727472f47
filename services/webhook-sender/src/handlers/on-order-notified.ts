import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import type { Db } from '@opentill/db/database';
import { handleOnce } from '@opentill/db/inbox';
import type { Observer } from '../observe.ts';
import { queueDeliveries } from '../store.ts';

export interface NotifiedDeps {
  readonly db: Db;
  readonly observer: Observer;
  /** Told after the commit that deliveries are due. */
  readonly wake: () => void;
}

/** Queues the callbacks of an order that was created or moved. The event names the order; the rows say the rest. */
export async function onOrderNotified(
  deps: NotifiedDeps,
  event: EventEnvelope<'order.created' | 'order.changed'>,
): Promise<void> {
  const key = { schema: 'webhook', consumer: event.type, eventId: event.id } as const;
  const outcome = await handleOnce(deps.db, key, (tx) => queueDeliveries(tx, [event.data.orderPk]));
  if (!outcome.handled) return;
  deps.observer.deliveriesQueued(outcome.result, 'event');
  deps.wake();
}
