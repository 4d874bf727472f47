import { setTimeout as delay } from 'node:timers/promises';
import { readerError } from '@opentill/chain/reader-error';
import { createPlaces } from '@opentill/chain-sources/take-places';
import type { Turn, TurnDeps } from '@opentill/chain-sources/take-turn';
import { takeTurn } from '@opentill/chain-sources/take-turn';

/**
 * Makes the function by which one of many calls that are made together takes its turn: behind the others, however long that takes,
 * and with its full time from then on. Whoever takes a turn without standing in line goes first. Rejects where the
 * provider wants to be left alone for longer than a call may wait: that whoever asks has to know.
 */
export function createLine(deps: TurnDeps): (turn: Turn) => Promise<void> {
  const line = createPlaces(1);
  return async (turn) => {
    const { signal } = turn.options;
    const leave = await line.take(signal);
    let taken: Promise<void>;
    try {
      await untilDue(deps, signal);
      turn.deadline.atMs = Math.max(turn.deadline.atMs, performance.now() + deps.timeoutMs);
      taken = takeTurn(deps, 1, turn); // at once: who comes next waits behind it
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
