import { setTimeout as delay } from 'node:timers/promises';
import { readerError } from '@opentill/chain/reader-error';
import { createSemaphore } from '@opentill/chain-sources/semaphore';
import type { AdmittedCalls, AdmissionDeps } from '@opentill/chain-sources/await-rate-limit';
import { awaitRateLimit } from '@opentill/chain-sources/await-rate-limit';

/** Each queued call waits for the ones before and then starts its own timeout. Calls outside the queue go first. */
export function createCallQueue(deps: AdmissionDeps): (turn: AdmittedCalls) => Promise<void> {
  const queue = createSemaphore(1);
  return async (turn) => {
    const { signal } = turn.options;
    const leave = await queue.take(signal);
    let taken: Promise<void>;
    try {
      await untilDue(deps, signal);
      turn.deadline.atMs = Math.max(turn.deadline.atMs, performance.now() + deps.timeoutMs);
      taken = awaitRateLimit(deps, 1, turn); // without await: the next call queues behind it
    } finally {
      leave();
    }
    await taken;
  };
}

async function untilDue(
  { limiter, timeoutMs }: AdmissionDeps,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (;;) {
    const waitMs = limiter.waitMs();
    if (waitMs <= 0 || waitMs > timeoutMs) return;
    await delay(Math.ceil(waitMs), undefined, signal === undefined ? {} : { signal }).catch(
      (cause: unknown) => {
        throw readerError('READ_ABORTED', 'the read was aborted', {}, cause);
      },
    );
  }
}
