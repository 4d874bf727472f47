import { abortableDelay } from './abortable-delay.ts';
import { backoffMs } from './backoff.ts';

export interface LoopOptions {
  readonly name: string;
  readonly intervalMs: number;
  /** 'again': next round without a pause. `signal` aborts when the loop stops; the run's error is then ignored. */
  readonly run: (signal: AbortSignal) => Promise<void | 'again'>;
  /** `failuresInRow` starts at 1. */
  readonly onError?: (error: unknown, failuresInRow: number) => void;
  /** Doubles with each further failure. @default 100 */
  readonly firstBackoffMs?: number;
  /** @default 30 000 */
  readonly maxBackoffMs?: number;
  readonly random?: () => number;
}

export interface Loop {
  /** Cuts a pause short, but no backoff: frequent wakes cannot defeat it. A running round is followed by one more. */
  wake(): void;
  /** Aborts the current run and resolves when it ended. */
  stop(): Promise<void>;
}

/** Runs at once, then `intervalMs` after each run's end, or after a backoff when it threw; never twice at a time. */
export function startLoop(options: LoopOptions): Loop {
  const stopping = new AbortController();
  let wakeRequested = false;
  let endPause: (() => void) | undefined;

  async function pauseUntilWoken(): Promise<void> {
    if (wakeRequested) {
      await new Promise(setImmediate); // a run that never waits must not starve the process
      return;
    }
    if (stopping.signal.aborted) return;
    // A plain timer: loops are woken up to 1,000 times a second, and an AbortSignal with its exception costs more.
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, options.intervalMs);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    endPause = undefined;
  }

  async function loop(): Promise<void> {
    let failuresInRow = 0;
    while (!stopping.signal.aborted) {
      wakeRequested = false;
      try {
        if ((await options.run(stopping.signal)) === 'again') wakeRequested = true;
        failuresInRow = 0;
      } catch (error) {
        if (stopping.signal.aborted) return;
        failuresInRow += 1;
        report(error, failuresInRow);
      }
      if (failuresInRow === 0) await pauseUntilWoken();
      else await abortableDelay(backoff(failuresInRow), stopping.signal);
    }
  }

  function backoff(failuresInRow: number): number {
    return backoffMs(failuresInRow, {
      firstMs: options.firstBackoffMs ?? 100,
      maxMs: options.maxBackoffMs ?? 30_000,
      ...(options.random === undefined ? {} : { random: options.random }),
    });
  }

  function report(error: unknown, failuresInRow: number): void {
    try {
      options.onError?.(error, failuresInRow);
    } catch {
      // Continue the loop.
    }
  }

  const ended = loop();
  return {
    wake() {
      wakeRequested = true;
      endPause?.();
    },
    async stop() {
      stopping.abort();
      endPause?.();
      await ended;
    },
  };
}
