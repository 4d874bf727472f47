import type { ConfirmChannel, Message } from 'amqplib';
import { EVENTS_EXCHANGE } from '@opentill/contracts/topology';
import type { GatewayError } from '@opentill/domain/gateway-error';
import { openConfirmChannel, type LinkState } from './channel-link.ts';
import type { Broker } from './connection.ts';
import { messagingError, type MessagingErrorCode } from './messaging-error.ts';

/** A message as the outbox keeps it. `payload` is the envelope's JSON, `eventId` its id. */
export interface OutboundMessage {
  readonly eventId: string;
  readonly routingKey: string;
  readonly payload: string;
}

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

interface Batch {
  readonly left: Set<string>;
  fail(error: GatewayError<MessagingErrorCode>): void;
}

/** A publisher on a connection of its own: a broker in alarm stops reading it, and must go on reading acks. */
export function createPublisher(broker: Broker, options: PublisherOptions = {}): Publisher {
  const confirmTimeoutMs = options.confirmTimeoutMs ?? 5_000;
  const listeners = new Set<() => void>();
  const batches = new Set<Batch>();

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
      for (const batch of batches) batch.fail(unavailable(error));
    },
  });

  /** The broker returns what no queue takes, and confirms it afterwards all the same. */
  function onReturn(message: Message): void {
    const eventId = String(message.properties.messageId);
    const { routingKey, exchange } = message.fields;
    for (const batch of batches) {
      if (!batch.left.has(eventId)) continue;
      batch.fail(
        messagingError('PUBLISH_UNROUTABLE', `no queue takes ${routingKey}`, {
          eventId,
          routingKey,
          exchange,
        }),
      );
    }
  }

  function send(channel: ConfirmChannel, rows: readonly OutboundMessage[]): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const left = new Set(rows.map((row) => row.eventId));
      const timer = setTimeout(() => {
        const error = messagingError('PUBLISH_TIMEOUT', `no confirm within ${confirmTimeoutMs} ms`, {
          unconfirmed: left.size,
        });
        batch.fail(error);
        // A channel that owes confirms is of no more use; in an alarm a new one would be no better.
        if (link.state === 'open' && link.channel === channel) link.drop(error);
      }, confirmTimeoutMs);
      const batch: Batch = {
        left,
        fail(error) {
          clearTimeout(timer);
          batches.delete(batch);
          reject(error);
        },
      };
      batches.add(batch);
      const onConfirm = (eventId: string, error: unknown) => {
        if (error !== null && error !== undefined) {
          batch.fail(
            isNack(error) ? messagingError('PUBLISH_REFUSED', 'nack', { eventId }) : unavailable(error),
          );
          return;
        }
        left.delete(eventId);
        if (left.size > 0 || !batches.delete(batch)) return;
        clearTimeout(timer);
        resolve();
      };
      try {
        for (const row of rows) publishRow(channel, row, onConfirm);
      } catch (error) {
        batch.fail(unavailable(error)); // a closed channel throws
      }
    });
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

function publishRow(
  channel: ConfirmChannel,
  row: OutboundMessage,
  onConfirm: (eventId: string, error: unknown) => void,
): void {
  channel.publish(
    EVENTS_EXCHANGE,
    row.routingKey,
    Buffer.from(row.payload),
    { messageId: row.eventId, persistent: true, mandatory: true, contentType: 'application/json' },
    (error) => onConfirm(row.eventId, error),
  );
}

/** amqplib tells a nack from a lost channel only by its text. */
function isNack(error: unknown): boolean {
  return error instanceof Error && error.message === 'message nacked';
}

function unavailable(cause: unknown): GatewayError<MessagingErrorCode> {
  return messagingError('BROKER_UNAVAILABLE', 'the channel was lost before the broker confirmed', {}, cause);
}
