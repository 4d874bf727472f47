/** Runs asynchronous work one at a time, because the chain has a single state and EVM. */
export interface Turns {
  take<T>(work: () => Promise<T> | T): Promise<T>;
}

export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return {
    take(work) {
      const run = last.then(work, work);
      last = run.catch(() => undefined);
      return run;
    },
  };
}
