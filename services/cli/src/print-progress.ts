import type { CliContext } from './context.ts';

const PROGRESS_MS = 5_000;

/** Prints to standard error, at most every five seconds. */
export function progressPrinter(
  { clock, printError }: CliContext,
  lineOf: (done: number) => string,
): (done: number) => void {
  let printedMs = clock.now().getTime();
  return (done) => {
    const nowMs = clock.now().getTime();
    if (nowMs - printedMs < PROGRESS_MS) return;
    printedMs = nowMs;
    printError(lineOf(done));
  };
}
