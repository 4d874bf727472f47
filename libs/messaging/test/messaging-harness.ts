import type { EventData, EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import { routingKey } from '@opentill/contracts/event-catalog';
import { connectBroker, type Broker } from '../src/connection.ts';
import type { OutboundMessage } from '../src/publisher.ts';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';

/** LOG=1 prints the log. */
export const logger = createLogger({ service: 'test', level: process.env['LOG'] ? 'debug' : 'silent' });

export function anEnvelope<T extends EventType>(type: T, data: EventData[T]): EventEnvelope<T> {
  return { id: newId(), type, version: 1, occurredAt: new Date().toISOString(), data };
}
export const anOrderCreated = () => anEnvelope('order.created', { orderPk: newId(), eventId: newId() });

export function toMessage(envelope: EventEnvelope): OutboundMessage {
  return {
    eventId: envelope.id,
    routingKey: routingKey(envelope.type, '_'),
    payload: JSON.stringify(envelope),
  };
}

/** Generous, for machines under load. */
export const TIMEOUT_MS = 60_000;

/** Reverse order, also when the test fails. */
export function createCleanup() {
  const steps: (() => Promise<void>)[] = [];
  return {
    add: (step: () => Promise<void>) => void steps.push(step),
    hang: () => new Promise<void>((resolve) => steps.unshift(() => Promise.resolve(resolve()))),
    broker(url: string, name = 'test'): Broker {
      const broker = connectBroker({ url, logger, name });
      steps.push(() => broker.close());
      return Object.assign(Object.create(broker) as Broker, {
        ready: (timeoutMs = TIMEOUT_MS) => broker.ready(timeoutMs),
      });
    },
    async run() {
      for (const step of steps.splice(0).reverse()) await step();
    },
  };
}
