import type { ConfirmChannel, Message } from 'amqplib';
import { withDeadline } from '@opentill/runtime/deadline';
import { openConfirmChannel, type LinkState } from './channel-link.ts';
import { channelLost, publishBatch, type ConfirmBatch, type OutboundMessage } from './confirm-batch.ts';
import type { Broker } from './connection.ts';
import { messagingError } from './messaging-error.ts';

export interface Publisher {
  readonly state: LinkState;
  /**
   * Publishes all rows, persistent and mandatory, and resolves once the broker has confirmed every one of them and
   * returned none. Any other outcome throws, and any of the rows may have been stored all the same: publish them
   * again under the same ids.
   *
   * @throws GatewayError BROKER_UNAVAILABLE, BROKER_BLOCKED, PUBLISH_TIMEOUT, PUBLISH_UNROUTABLE, PUBLISH_REFUSED;
   *   all retryable.
   */
  publish(rows: readonly OutboundMessage[]): Promise<void>;
  /** Calls `listener` whenever the channel has (again) become usable. */
  onOpen(listener: () => void): void;
}

export interface PublisherOptions {
  /** How long the broker may take to confirm a batch. @default 5000 */
  readonly confirmTimeoutMs?: number;
}

/** A publisher on a connection of its own: a broker in alarm stops reading it, and must go on reading acks. */
export function createPublisher(broker: Broker, options: PublisherOptions = {}): Publisher {
  const confirmTimeoutMs = options.confirmTimeoutMs ?? 5_000;
  const listeners = new Set<() => void>();
  const batches = new Set<ConfirmBatch>();

  const link = broker.openLink<ConfirmChannel>({
    name: 'publisher',
    createChannel: openConfirmChannel,
    setup(channel) {
      channel.on('return', onReturn);
      return Promise.resolve();
    },
    onOpen() {
      for (const listener of listeners) listener();
    },
    onLost(error) {
      for (const batch of batches) batch.fail(channelLost(error));
    },
  });

  /** The broker returns what no queue takes, and then confirms it all the same. */
  function onReturn(message: Message): void {
    const eventId = String(message.properties.messageId);
    const { routingKey } = message.fields;
    for (const batch of batches) {
      if (!batch.awaits(eventId)) continue;
      broker.topologyMissing(`a queue for ${routingKey}`);
      batch.fail(
        messagingError('PUBLISH_UNROUTABLE', `no queue takes ${routingKey}`, { eventId, routingKey }),
      );
    }
  }

  async function send(channel: ConfirmChannel, rows: readonly OutboundMessage[]): Promise<void> {
    const batch = publishBatch(channel, rows);
    batches.add(batch);
    const timeout = () => {
      const { unconfirmed } = batch;
      const error = messagingError('PUBLISH_TIMEOUT', `no confirm within ${confirmTimeoutMs} ms`, {
        unconfirmed,
      });
      // A channel that owes confirms is of no more use; in an alarm a new one would be no better.
      if (link.state === 'open' && link.channel === channel) link.drop(error);
      return error;
    };
    try {
      await withDeadline(confirmTimeoutMs, () => batch.settled, timeout);
    } finally {
      batches.delete(batch);
    }
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
      await send(channel, rows);
    },
    onOpen(listener) {
      listeners.add(listener);
    },
  };
}
