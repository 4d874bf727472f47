import { promisify } from 'node:util';
import type { ConfirmChannel, Message } from 'amqplib';
import { EVENTS_EXCHANGE } from '@opentill/contracts/topology';
import { withDeadline } from '@opentill/runtime/deadline';
import type { LinkState } from './channel-link.ts';
import type { Broker } from './connection.ts';
import { messagingError } from './messaging-error.ts';

export interface OutboundMessage {
  readonly eventId: string;
  readonly routingKey: string;
  readonly payload: string;
  /** W3C; sent as a header. */
  readonly traceparent?: string | null;
}

export interface Publisher {
  readonly state: LinkState;
  /**
   * Resolves once the broker confirmed all rows and returned none. After an error any of them may be stored: publish
   * them again under the same ids.
   * @throws GatewayError BROKER_UNAVAILABLE, BROKER_BLOCKED, PUBLISH_TIMEOUT, PUBLISH_UNROUTABLE, PUBLISH_REFUSED
   */
  publish(rows: readonly OutboundMessage[]): Promise<void>;
  onOpen(listener: () => void): void;
}

export interface PublisherOptions {
  /** @default 5000 */
  readonly confirmTimeoutMs?: number;
}

/** Has its own connection: a broker in alarm stops reading it, and must still read acks from consumers. */
export function createPublisher(broker: Broker, options: PublisherOptions = {}): Publisher {
  const confirmTimeoutMs = options.confirmTimeoutMs ?? 5_000;
  const listeners = new Set<() => void>();
  const link = broker.openLink({
    name: 'publisher',
    onOpen() {
      for (const listener of listeners) listener();
    },
  });

  async function publishAll(channel: ConfirmChannel, rows: readonly OutboundMessage[]): Promise<void> {
    let unconfirmed = rows.length;
    let unroutable: Error | undefined;
    /** The broker returns an unroutable message and then confirms it as well. */
    const onReturn = ({ properties, fields: { routingKey } }: Message) => {
      const eventId = String(properties.messageId);
      if (!rows.some((row) => row.eventId === eventId)) return;
      broker.topologyMissing(`a queue for ${routingKey}`);
      unroutable ??= messagingError('PUBLISH_UNROUTABLE', `no queue takes ${routingKey}`, {
        eventId,
        routingKey,
      });
    };
    const work = async () => {
      await Promise.all(rows.map((row) => publishOne(channel, row).then(() => (unconfirmed -= 1))));
      if (unroutable !== undefined) throw unroutable;
    };
    const timeout = () => {
      const error = messagingError('PUBLISH_TIMEOUT', `no confirm within ${confirmTimeoutMs} ms`, {
        unconfirmed,
      });
      // After a missing confirm the channel is useless; during an alarm a new one would not help.
      if (link.state === 'open' && link.channel === channel) link.drop(error);
      return error;
    };
    channel.on('return', onReturn);
    await withDeadline(confirmTimeoutMs, work, timeout).finally(() => channel.off('return', onReturn));
  }

  return {
    get state() {
      return link.state;
    },
    async publish(rows) {
      if (rows.length === 0) return;
      if (link.state === 'blocked') throw messagingError('BROKER_BLOCKED', 'the broker blocks publishers');
      const { channel } = link;
      if (channel === undefined) throw messagingError('BROKER_UNAVAILABLE', 'the broker is not connected');
      await publishAll(channel, rows);
    },
    onOpen(listener) {
      listeners.add(listener);
    },
  };
}

async function publishOne(channel: ConfirmChannel, message: OutboundMessage): Promise<void> {
  const { eventId, routingKey, payload, traceparent = null } = message;
  const options = {
    messageId: eventId,
    persistent: true,
    mandatory: true,
    contentType: 'application/json',
    ...(traceparent !== null && { headers: { traceparent } }),
  };
  const publish = promisify(channel.publish.bind(channel));
  try {
    await publish(EVENTS_EXCHANGE, routingKey, Buffer.from(payload), options);
  } catch (error) {
    // amqplib distinguishes a nack from a lost channel only by its text.
    if (error instanceof Error && error.message === 'message nacked')
      throw messagingError('PUBLISH_REFUSED', 'nack', { eventId });
    throw messagingError('BROKER_UNAVAILABLE', 'the channel was lost before the broker confirmed', {}, error);
  }
}
