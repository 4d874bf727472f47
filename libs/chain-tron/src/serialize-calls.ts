import { setTimeout as delay } from 'node:timers/promises';
import { readerError } from '@opentill/chain/reader-error';
import { createPlaces } from '@opentill/chain-sources/semaphore';
import type { Turn, TurnDeps } from '@opentill/chain-sources/await-rate-limit';
import { takeTurn } from '@opentill/chain-sources/await-rate-limit';

/** Each queued call waits for the ones before and then starts its own timeout. Calls outside the queue go first. */
export function createCallQueue(deps: TurnDeps): (turn: Turn) => Promise<void> {
  const queue = createPlaces(1);
  return async (turn) => {
    const { signal } = turn.options;
    const leave = await queue.take(signal);
    let taken: Promise<void>;
    try {
      await untilDue(deps, signal);
      turn.deadline.atMs = Math.max(turn.deadline.atMs, performance.now() + deps.timeoutMs);
      taken = takeTurn(deps, 1, turn); // without await: the next call queues behind it
    } finally {
      leave();
    }
    await taken;
  };
}

async function untilDue({ limiter, timeoutMs }: TurnDeps, signal: AbortSignal | undefined): Promise<void> {
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
