import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import type { Db } from '@opentill/db/database';
import { handleTogetherOnce } from '@opentill/db/inbox';
import type { Observe } from '../observe.ts';
import { queueDeliveries } from '../store/queue-deliveries.ts';

export interface NotifiedDeps {
  readonly db: Db;
  readonly observe: Observe;
  readonly wake: () => void;
}

type OrderNotified = EventEnvelope<'order.created' | 'order.changed'>;

/** The event contains only the orders' ids; the rest is read from the database. */
export function onOrderNotified(deps: NotifiedDeps, event: OrderNotified): Promise<void> {
  return onOrdersNotified(deps, [event]);
}

export async function onOrdersNotified(deps: NotifiedDeps, events: readonly OrderNotified[]): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  const key = { schema: 'webhook', consumer: first.type, eventIds: events.map((event) => event.id) } as const;
  const outcome = await handleTogetherOnce(deps.db, key, (tx, firstTime) =>
    queueDeliveries(
      tx,
      events.filter((event) => firstTime.has(event.id)).flatMap((event) => ordersOf(event)),
    ),
  );
  if (!outcome.handled) return;
  deps.observe.deliveriesQueued(outcome.result, 'event');
  deps.wake();
}

function ordersOf({ data }: OrderNotified): readonly string[] {
  return 'moves' in data ? data.moves.map((move) => move.orderPk) : [data.orderPk];
}
