import type { ConfirmChannel } from 'amqplib';
import { EVENTS_EXCHANGE } from '@opentill/contracts/topology';
import type { GatewayError } from '@opentill/domain/gateway-error';
import { messagingError, type MessagingErrorCode } from './messaging-error.ts';

/** A message as the outbox keeps it. `payload` is the envelope's JSON, `eventId` its id. */
export interface OutboundMessage {
  readonly eventId: string;
  readonly routingKey: string;
  readonly payload: string;
}

/** Messages on their way: all confirmed, or failed as a whole. Settles once; later news of its messages is ignored. */
export interface ConfirmBatch {
  readonly settled: Promise<void>;
  /** True while the broker owes a confirm for this message. */
  awaits(eventId: string): boolean;
  readonly unconfirmed: number;
  fail(error: GatewayError<MessagingErrorCode>): void;
}

/** Publishes rows, persistent and mandatory, and gives the batch that waits for their confirms. Never throws. */
export function publishBatch(channel: ConfirmChannel, rows: readonly OutboundMessage[]): ConfirmBatch {
  const left = new Set(rows.map((row) => row.eventId));
  let resolve: () => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const settled = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    fail = onReject;
  });
  settled.catch(() => undefined); // may fail before anybody waits for it
  const batch: ConfirmBatch = {
    settled,
    awaits: (eventId) => left.has(eventId),
    get unconfirmed() {
      return left.size;
    },
    fail: (error) => fail(error),
  };
  const confirmed = (eventId: string, error: unknown) => {
    if (error !== null && error !== undefined) {
      fail(isNack(error) ? messagingError('PUBLISH_REFUSED', 'nack', { eventId }) : channelLost(error));
      return;
    }
    left.delete(eventId);
    if (left.size === 0) resolve();
  };
  try {
    for (const { eventId, routingKey, payload } of rows) {
      const options = {
        messageId: eventId,
        persistent: true,
        mandatory: true,
        contentType: 'application/json',
      };
      channel.publish(EVENTS_EXCHANGE, routingKey, Buffer.from(payload), options, (error) =>
        confirmed(eventId, error),
      );
    }
  } catch (error) {
    fail(channelLost(error)); // a closed channel throws
  }
  return batch;
}

export function channelLost(cause: unknown): GatewayError<MessagingErrorCode> {
  return messagingError('BROKER_UNAVAILABLE', 'the channel was lost before the broker confirmed', {}, cause);
}

/** amqplib tells a nack from a lost channel only by its text. */
function isNack(error: unknown): boolean {
  return error instanceof Error && error.message === 'message nacked';
}
