import type { CliContext } from './context.ts';

const PROGRESS_MS = 5_000;

/** Says beside the answer how far a long work is, every five seconds at most. */
export function progressPrinter(
  { clock, printError }: CliContext,
  lineOf: (done: number) => string,
): (done: number) => void {
  let saidMs = clock.now().getTime();
  return (done) => {
    const nowMs = clock.now().getTime();
    if (nowMs - saidMs < PROGRESS_MS) return;
    saidMs = nowMs;
    printError(lineOf(done));
  };
}
