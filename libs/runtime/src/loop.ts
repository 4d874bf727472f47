import { abortableDelay } from './abortable-delay.ts';
import { backoffMs } from './backoff.ts';

export interface LoopOptions {
  /** For the error handler's message and for debuggers. */
  readonly name: string;
  /** Pause between the end of one run and the start of the next. */
  readonly intervalMs: number;
  /**
   * One round of work. 'again' asks for the next round without a pause. `signal` aborts when the loop stops: the
   * run must then end soon, and what it throws is no longer reported.
   */
  readonly run: (signal: AbortSignal) => Promise<void | 'again'>;
  /** Told of each failed run; `failuresInRow` starts at 1 and falls back to 0 with a run that succeeds. */
  readonly onError?: (error: unknown, failuresInRow: number) => void;
  /** Pause after the first failure; doubles with each further one. @default 100 */
  readonly firstBackoffMs?: number;
  /** The longest pause after a failure. @default 30 000 */
  readonly maxBackoffMs?: number;
  /** Jitter source in [0, 1). */
  readonly random?: () => number;
}

export interface Loop {
  /**
   * Asks for a run now. During a pause the run starts at once; during a run another one follows it, however many
   * wakes came; during a backoff the run follows the backoff, which a busy caller must not turn into a hammer.
   */
  wake(): void;
  /** Aborts the run in flight and resolves when it ended; no run starts any more. */
  stop(): Promise<void>;
}

/**
 * Runs `run` for ever, the first time at once, never two at a time.
 *
 * Modes: running → pausing (interval) → running, or running → backing off (a run threw) → running; stopped is final.
 */
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
    // Loops are woken a thousand times a second, and an abort, with its signals and its exception, is not for free.
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
      // A broken error handler must not end the loop it only watches.
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
