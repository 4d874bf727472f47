import type { Channel, ConsumeMessage } from 'amqplib';
import type { EventEnvelope, EventType, ServiceName } from '@opentill/contracts/event-catalog';
import { queueName } from '@opentill/contracts/topology';
import { withDeadline } from '@opentill/runtime/deadline';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import type { Broker } from './connection.ts';
import { createConsumerMetrics } from './consumer-metrics.ts';
import { startConsumerSpan } from './consumer-span.ts';
import { handleWithRetries } from './handle-with-retries.ts';
import { createEnvelopeReader } from './read-envelope.ts';

export interface ConsumerOptions<T extends EventType> {
  readonly broker: Broker;
  readonly service: ServiceName;
  readonly type: T;
  /** Also limits parallel handlers; 20–50 where they write to the database. */
  readonly prefetch: number;
  /** Resolving acknowledges; classify-failure.ts maps a rejection to retry or dead letter. */
  readonly handle: (envelope: EventEnvelope<T>) => Promise<void>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** A slower handler fails with HANDLER_TIMEOUT, which counts. @default 60 000 */
  readonly handleTimeoutMs?: number;
  /** For `stop()`: the broker's answer and the running handlers. @default 5000 */
  readonly drainTimeoutMs?: number;
  /** After a delivery's first failure; doubles up to `maxRetryDelayMs`. @default 250 */
  readonly firstRetryDelayMs?: number;
  /** @default 15 000 */
  readonly maxRetryDelayMs?: number;
}

export interface Consumer {
  readonly consuming: boolean;
  /** Waits for running handlers and requeues the rest; within about 7 s. */
  stop(): Promise<void>;
}

/**
 * Only this module acknowledges messages, each exactly once. Handled: ack. Unreadable, permanent or failed too often:
 * reject to the dead-letter queue. Retryable: kept unacknowledged and retried with backoff. When the channel is lost or
 * the consumer stops, the broker redelivers.
 */
export function startConsumer<T extends EventType>(options: ConsumerOptions<T>): Consumer {
  const queue = queueName(options.service, options.type);
  const handleMessage = createMessageHandler(options, queue);
  const inFlight = new Set<Promise<void>>();
  const stopping = new AbortController();

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => inFlight.delete(tracked));
    inFlight.add(tracked);
  }

  const link = options.broker.openLink({
    name: `consumer ${queue}`,
    async setup(channel, drop) {
      const lost = new AbortController();
      channel.once('close', () => lost.abort());
      const giveUp = AbortSignal.any([lost.signal, stopping.signal]);
      await channel.prefetch(options.prefetch);
      const onMessage = (message: ConsumeMessage | null) => {
        if (message === null) drop(new Error('the broker cancelled the consumer'));
        else if (!stopping.signal.aborted) track(handleMessage(channel, message, giveUp).catch(drop));
      };
      await channel.consume(queue, onMessage, { noAck: false, consumerTag: queue });
    },
  });

  return {
    get consuming() {
      return link.channel !== undefined && !stopping.signal.aborted;
    },
    async stop() {
      const { channel } = link;
      const limitMs = options.drainTimeoutMs ?? 5_000;
      const beganMs = performance.now();
      stopping.abort();
      if (channel !== undefined) {
        const cancel = async () => channel.cancel(queue);
        await withDeadline(Math.min(limitMs, 1_000), cancel, () => new Error('cancel not answered')).catch(
          () => undefined,
        );
      }
      const leftMs = limitMs - (performance.now() - beganMs);
      await withDeadline(
        leftMs,
        () => Promise.all(inFlight),
        () => new Error('handlers left in flight'),
      ).catch(({ message }: Error) => options.logger.warn(message, { queue, count: inFlight.size }));
      await link.close();
    },
  };
}

/** Rejects only on a bug of its own, which costs the connection. */
function createMessageHandler<T extends EventType>(options: ConsumerOptions<T>, queue: string) {
  const { logger } = options;
  const readEnvelope = createEnvelopeReader(options.type);
  const metrics = createConsumerMetrics(options.metrics, queue);
  const handling = {
    handle: options.handle,
    queue,
    logger,
    metrics,
    handleTimeoutMs: options.handleTimeoutMs ?? 60_000,
    firstRetryDelayMs: options.firstRetryDelayMs ?? 250,
    maxRetryDelayMs: options.maxRetryDelayMs ?? 15_000,
  };

  function read(message: ConsumeMessage): EventEnvelope<T> | undefined {
    try {
      return readEnvelope(message.content);
    } catch (error) {
      metrics.settled('unreadable');
      logger.error('event unreadable', { queue, messageId: message.properties.messageId, error });
      return undefined;
    }
  }

  async function handle(envelope: EventEnvelope<T>, message: ConsumeMessage, giveUp: AbortSignal) {
    const span = startConsumerSpan(options.service, queue, envelope, message);
    if (span === undefined) return handleWithRetries(envelope, giveUp, handling);
    const outcome = await span.run(() => handleWithRetries(envelope, giveUp, handling));
    span.set({ 'opentill.outcome': outcome });
    span.end(outcome === 'dead' ? new Error('event dead') : undefined);
    return outcome;
  }

  return async (channel: Channel, message: ConsumeMessage, giveUp: AbortSignal): Promise<void> => {
    const envelope = read(message);
    metrics.inFlight(1);
    const outcome = envelope === undefined ? 'dead' : await handle(envelope, message, giveUp);
    metrics.inFlight(-1);
    try {
      if (outcome === 'ack') channel.ack(message);
      if (outcome === 'dead') channel.reject(message, false);
    } catch (error) {
      // The broker redelivers the message, and the inbox deduplicates it.
      logger.debug('answer not sent', { queue, outcome, error });
    }
  };
}
