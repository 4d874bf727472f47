import type { Channel, ConsumeMessage } from 'amqplib';
import type { EventEnvelope, EventType, ServiceName } from '@opentill/contracts/event-catalog';
import { queueName } from '@opentill/contracts/topology';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { backoffMs } from '@opentill/runtime/backoff';
import { withDeadline } from '@opentill/runtime/deadline';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { openChannel } from './channel-link.ts';
import type { Broker } from './connection.ts';
import { createConsumerMetrics } from './consumer-metrics.ts';
import { judgeFailure } from './judge-failure.ts';
import { messagingError } from './messaging-error.ts';
import { createEnvelopeReader } from './read-envelope.ts';

export interface ConsumerOptions<T extends EventType> {
  readonly broker: Broker;
  readonly service: ServiceName;
  readonly type: T;
  /** How many messages may be in hand at once, so also how many handlers run side by side; 20–50 where they write. */
  readonly prefetch: number;
  /** Does the work. Resolving acknowledges the message; what a rejection means is in judge-failure.ts. */
  readonly handle: (envelope: EventEnvelope<T>) => Promise<void>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** A handler that takes longer has failed (HANDLER_TIMEOUT, counted). @default 60 000 */
  readonly handleTimeoutMs?: number;
  /** How long `stop()` waits for handlers in flight. @default 8000 */
  readonly drainTimeoutMs?: number;
  /** Pause after a delivery's first failure; doubles up to `maxRetryDelayMs`. @default 250 */
  readonly firstRetryDelayMs?: number;
  /** @default 15 000 */
  readonly maxRetryDelayMs?: number;
}

export interface Consumer {
  /** True while the broker delivers to this consumer. */
  readonly consuming: boolean;
  /** Takes no more messages, lets handlers in flight end, hands the rest back to the queue. */
  stop(): Promise<void>;
}

/** abandoned: not answered, so that the broker delivers it again. */
type Outcome = 'ack' | 'dead' | 'abandoned';

/**
 * Consumes one event type for a service, and goes on after every loss of the broker.
 *
 * Each message is answered exactly once, here and nowhere else: handled → ack; unreadable, permanent or failed too
 * often → reject into the dead letters; retryable → kept in hand and tried again after a growing pause. When the
 * channel is lost or the consumer stops, what is not answered goes back to its queue and comes again.
 */
export function startConsumer<T extends EventType>(options: ConsumerOptions<T>): Consumer {
  const { logger, type } = options;
  const queue = queueName(options.service, type);
  const readEnvelope = createEnvelopeReader(type);
  const metrics = createConsumerMetrics(options.metrics, queue);
  const inFlight = new Set<Promise<void>>();
  const stopping = new AbortController();
  let subscription:
    { readonly channel: Channel; readonly consumerTag: string; readonly lost: AbortController } | undefined;

  const link = options.broker.openLink<Channel>({
    name: `consumer ${queue}`,
    createChannel: openChannel,
    async setup(channel, drop) {
      const lost = new AbortController();
      channel.once('close', () => lost.abort());
      await channel.prefetch(options.prefetch);
      const onMessage = (message: ConsumeMessage | null) => {
        if (message === null) drop(new Error('the broker cancelled the consumer'));
        else if (!stopping.signal.aborted) track(receive(channel, message, lost.signal));
      };
      const { consumerTag } = await channel.consume(queue, onMessage, { noAck: false });
      subscription = { channel, consumerTag, lost };
    },
    onLost() {
      subscription = undefined;
    },
  });

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => {
      inFlight.delete(tracked);
      metrics.inFlight(inFlight.size);
    });
    inFlight.add(tracked);
    metrics.inFlight(inFlight.size);
  }

  /** Never rejects. */
  async function receive(channel: Channel, message: ConsumeMessage, lost: AbortSignal): Promise<void> {
    let envelope: EventEnvelope<T>;
    try {
      envelope = readEnvelope(message.content);
    } catch (error) {
      metrics.settled('unreadable');
      logger.error('event unreadable', { queue, messageId: message.properties.messageId, error });
      answer(channel, message, 'dead');
      return;
    }
    answer(channel, message, await handleUntilDone(envelope, AbortSignal.any([lost, stopping.signal])));
  }

  function answer(channel: Channel, message: ConsumeMessage, outcome: Outcome): void {
    try {
      if (outcome === 'ack') channel.ack(message);
      if (outcome === 'dead') channel.reject(message, false);
    } catch (error) {
      // The channel is gone; the message comes again, and the inbox knows it.
      logger.debug('answer not sent', { queue, outcome, error });
    }
  }

  async function handleUntilDone(envelope: EventEnvelope<T>, giveUp: AbortSignal): Promise<Outcome> {
    let failures = 0;
    let counted = 0;
    for (;;) {
      try {
        await handleOnce(envelope);
        metrics.settled('handled');
        return 'ack';
      } catch (error) {
        failures += 1;
        const verdict = judgeFailure(error, counted + 1);
        const fields = { queue, eventId: envelope.id, failures, error };
        if (verdict === 'dead') {
          metrics.settled('dead');
          logger.error('event dead', fields);
          return 'dead';
        }
        if (verdict === 'retry') counted += 1;
        metrics.settled('retried');
        logger.warn('event failed', fields);
      }
      const pauseMs = backoffMs(failures, {
        firstMs: options.firstRetryDelayMs ?? 250,
        maxMs: options.maxRetryDelayMs ?? 15_000,
      });
      if (!(await abortableDelay(pauseMs, giveUp))) return 'abandoned';
    }
  }

  async function handleOnce(envelope: EventEnvelope<T>): Promise<void> {
    const limitMs = options.handleTimeoutMs ?? 60_000;
    const end = metrics.startTimer();
    try {
      // A handler that throws before its first await is one that rejects.
      const work = async () => await options.handle(envelope);
      await withDeadline(limitMs, work, () =>
        messagingError('HANDLER_TIMEOUT', `the handler took more than ${limitMs} ms`, {
          type,
          eventId: envelope.id,
        }),
      );
    } finally {
      end();
    }
  }

  return {
    get consuming() {
      return subscription !== undefined && !stopping.signal.aborted;
    },
    async stop() {
      const present = subscription;
      stopping.abort();
      if (present !== undefined) {
        const cancel = () => present.channel.cancel(present.consumerTag);
        await withDeadline(1_000, cancel, () => new Error('cancel not answered')).catch(() => undefined);
      }
      const limitMs = options.drainTimeoutMs ?? 8_000;
      const drained = await Promise.race([
        Promise.all(inFlight),
        abortableDelay(limitMs).then(() => 'late' as const),
      ]);
      if (drained === 'late') logger.warn('handlers left in flight', { queue, count: inFlight.size });
      await link.close();
    },
  };
}
