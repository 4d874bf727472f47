import { EVENT_CATALOG, EVENT_TYPES, type EventType, type ServiceName } from './event-catalog.ts';

export const EVENTS_EXCHANGE = 'opentill.events';
export const DEAD_EXCHANGE = 'opentill.dead';
/** Unacknowledged deliveries after which a message is dead: one that crashes a consumer must not loop. */
export const DELIVERY_LIMIT = 20;

export interface QueueDefinition {
  readonly name: string;
  readonly service: ServiceName;
  readonly type: EventType;
  readonly bindingKey: string;
  /** DEAD_EXCHANGE has a binding with the queue's own name. */
  readonly deadLetterQueue: string;
  /** Arguments for assertQueue; a change needs a new queue name. */
  readonly arguments: Readonly<Record<string, string | number>>;
}

/** `<service>.<event>`, with `-` for `.` in the event. */
export function queueName(service: ServiceName, type: EventType): string {
  return `${service}.${type.replace('.', '-')}`;
}

export function queues(): readonly QueueDefinition[] {
  return EVENT_TYPES.flatMap((type) =>
    EVENT_CATALOG[type].consumers.map((service) => {
      const name = queueName(service, type);
      const deadLetterQueue = `${name}.dead`;
      return {
        name,
        service,
        type,
        bindingKey: `${type}.*`,
        deadLetterQueue,
        arguments: {
          'x-queue-type': 'quorum',
          'x-delivery-limit': DELIVERY_LIMIT,
          'x-dead-letter-exchange': DEAD_EXCHANGE,
          'x-dead-letter-routing-key': deadLetterQueue,
          'x-dead-letter-strategy': 'at-least-once',
          'x-overflow': 'reject-publish',
        },
      };
    }),
  );
}

/** A service's user writes only its own event types and reads only its own queues. */
export function permissions(service: ServiceName): {
  readonly write: string;
  readonly read: string;
  readonly topicWrite: string;
} {
  const own = EVENT_TYPES.filter((type) => EVENT_CATALOG[type].producers.includes(service));
  const escape = (text: string) => text.replace(/[.]/g, '\\.');
  return {
    write: own.length === 0 ? '^$' : `^${escape(EVENTS_EXCHANGE)}$`,
    read: `^${escape(service)}\\..*$`,
    topicWrite: own.length === 0 ? '^$' : `^(${own.map(escape).join('|')})\\..*$`,
  };
}
