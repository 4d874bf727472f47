import type { EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import { batchCalls } from '@opentill/runtime/batch-calls';
import { classifyFailure } from './classify-failure.ts';

export interface BatchHandlingOptions<T extends EventType> {
  /** One transaction: handles all events, or none if it rejects. */
  readonly handleTogether: (envelopes: readonly EventEnvelope<T>[]) => Promise<void>;
  /** Events per call. The consumer's prefetch should be a few times as many. */
  readonly together: number;
  readonly atOnce: number;
}

/**
 * Events that arrive while calls run are batched, which costs the database less. Acknowledgement, retry and dead letter
 * stay per event: when a batch fails, each of its events is tried separately.
 */
export function batchHandling<T extends EventType>(
  options: BatchHandlingOptions<T>,
): (envelope: EventEnvelope<T>) => Promise<void> {
  const handle = batchCalls<EventEnvelope<T>, true>({
    runTogether: async (envelopes) => {
      await options.handleTogether(envelopes);
      return envelopes.map(() => true);
    },
    // While the database is down, separate calls would fail too: each event waits for its own retry.
    failedWhole: (error) => classifyFailure(error, 1) !== 'wait',
    runsAtOnce: options.atOnce,
    inputsPerRun: options.together,
  });
  return async (envelope) => void (await handle(envelope));
}
