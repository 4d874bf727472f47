/** Runs asynchronous work one after the other: the chain has one state and one EVM. */
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
