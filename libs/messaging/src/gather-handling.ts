import type { EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import { gatherCalls } from '@opentill/runtime/gather-calls';
import { judgeFailure } from './judge-failure.ts';

export interface GatherHandlingOptions<T extends EventType> {
  /** Handles events in one transaction: all of them, or by a rejection none. */
  readonly handleTogether: (envelopes: readonly EventEnvelope<T>[]) => Promise<void>;
  /** Most events of one call. The consumer's prefetch should be a few times as many. */
  readonly together: number;
  /** How many calls may be under way. */
  readonly atOnce: number;
}

/**
 * A consumer's `handle` out of one for many events. An event that comes alone is handled alone and at once; what piles up
 * behind the calls under way goes together, which costs the database much less each. Every event is still acknowledged,
 * retried and buried by itself: one that spoils a call is found by trying each of that call alone.
 */
export function gatherHandling<T extends EventType>(
  options: GatherHandlingOptions<T>,
): (envelope: EventEnvelope<T>) => Promise<void> {
  const handle = gatherCalls<EventEnvelope<T>, true>({
    runTogether: async (envelopes) => {
      await options.handleTogether(envelopes);
      return envelopes.map(() => true);
    },
    // With the database away each alone would fare no better: all wait for their own next try.
    failedWhole: (error) => judgeFailure(error, 1) !== 'wait',
    runsAtOnce: options.atOnce,
    inputsPerRun: options.together,
  });
  return async (envelope) => void (await handle(envelope));
}
