import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import type { Db } from '@opentill/db/database';
import { handleOnce } from '@opentill/db/inbox';
import type { Observer } from '../observe.ts';
import { queueDeliveries } from '../store/queue-deliveries.ts';

export interface NotifiedDeps {
  readonly db: Db;
  readonly observer: Observer;
  /** Told after the commit that deliveries are due. */
  readonly wake: () => void;
}

/** Queues the callbacks of orders that were created or moved. The event names the orders; the rows say the rest. */
export async function onOrderNotified(
  deps: NotifiedDeps,
  event: EventEnvelope<'order.created' | 'order.changed'>,
): Promise<void> {
  const orderPks =
    'moves' in event.data ? event.data.moves.map((move) => move.orderPk) : [event.data.orderPk];
  const key = { schema: 'webhook', consumer: event.type, eventId: event.id } as const;
  const outcome = await handleOnce(deps.db, key, (tx) => queueDeliveries(tx, orderPks));
  if (!outcome.handled) return;
  deps.observer.deliveriesQueued(outcome.result, 'event');
  deps.wake();
}
