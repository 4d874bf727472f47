import type { EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { backoffMs } from '@opentill/runtime/backoff';
import { withDeadline } from '@opentill/runtime/deadline';
import type { Logger } from '@opentill/runtime/logger';
import type { ConsumerMetrics } from './consumer-metrics.ts';
import { classifyFailure } from './classify-failure.ts';
import { messagingError } from './messaging-error.ts';

/** abandoned: neither acknowledged nor dead-lettered, so that the broker redelivers. */
export type Outcome = 'ack' | 'dead' | 'abandoned';

export interface HandlingOptions<T extends EventType> {
  readonly handle: (envelope: EventEnvelope<T>) => Promise<void>;
  readonly queue: string;
  readonly logger: Logger;
  readonly metrics: ConsumerMetrics;
  readonly handleTimeoutMs: number;
  readonly firstRetryDelayMs: number;
  readonly maxRetryDelayMs: number;
}

/**
 * Retries with backoff until classifyFailure returns 'dead'. `stopRetrying` (channel lost, consumer stops) aborts a
 * pause, but not a running handler.
 */
export async function handleWithRetries<T extends EventType>(
  envelope: EventEnvelope<T>,
  stopRetrying: AbortSignal,
  options: HandlingOptions<T>,
): Promise<Outcome> {
  const { metrics, logger, queue } = options;
  let failures = 0;
  let countedFailures = 0;
  for (;;) {
    const failure = await tryHandling(envelope, options);
    if (failure === undefined) {
      metrics.settled('handled');
      return 'ack';
    }
    failures += 1;
    const verdict = classifyFailure(failure.error, countedFailures + 1);
    const fields = { queue, eventId: envelope.id, failures, error: failure.error };
    if (verdict === 'dead') {
      metrics.settled('dead');
      logger.error('event dead', fields);
      return 'dead';
    }
    if (verdict === 'retry') countedFailures += 1;
    metrics.settled('retried');
    logger.warn('event failed', fields);
    const pauseMs = backoffMs(failures, {
      firstMs: options.firstRetryDelayMs,
      maxMs: options.maxRetryDelayMs,
    });
    if (!(await abortableDelay(pauseMs, stopRetrying))) return 'abandoned';
  }
}

async function tryHandling<T extends EventType>(
  envelope: EventEnvelope<T>,
  { handle, metrics, handleTimeoutMs }: HandlingOptions<T>,
): Promise<{ readonly error: unknown } | undefined> {
  const timeout = () =>
    messagingError('HANDLER_TIMEOUT', `the handler took more than ${handleTimeoutMs} ms`, {
      type: envelope.type,
      eventId: envelope.id,
    });
  const end = metrics.startTimer();
  try {
    await withDeadline(handleTimeoutMs, async () => handle(envelope), timeout);
    return undefined;
  } catch (error) {
    return { error };
  } finally {
    end();
  }
}
