/** Reads several things at once and hands them over strictly in order. */
export interface ReadAhead<R> {
  /** The next result; undefined behind the last. Rejects with what its reading threw; nothing follows after that. */
  next(): Promise<R | undefined>;
  /** Whether `next` has something to hand over, or nothing follows: at once, or within so many milliseconds. */
  isNextReady(withinMs: number): Promise<boolean>;
  /** Ends what is under way, and resolves when it ended; nothing more is begun. */
  stop(): Promise<void>;
}

interface Started<R> {
  readonly result: Promise<R>;
  isSettled: boolean;
}

/**
 * Reads the items with at most `ahead()` begun and not yet handed over: that bounds calls and memory alike. Whoever asks
 * for the next begins more, one at least. `signal` aborts all of them.
 */
export function createReadAhead<I, R>(options: {
  readonly items: Iterator<I, unknown, undefined>;
  readonly read: (item: I, signal: AbortSignal) => Promise<R>;
  readonly ahead: () => number;
  readonly signal?: AbortSignal | undefined;
}): ReadAhead<R> {
  const { items, read, ahead } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, ...(options.signal ? [options.signal] : [])]);
  const started: Started<R>[] = [];

  function begin(): void {
    while (started.length < Math.max(1, ahead()) && !signal.aborted) {
      const item = items.next();
      if (item.done === true) return;
      const one: Started<R> = { result: read(item.value, signal), isSettled: false };
      const settle = (): void => {
        one.isSettled = true;
      };
      one.result.then(settle, settle);
      started.push(one);
    }
  }

  return {
    async next() {
      begin();
      const first = started[0];
      if (first === undefined) {
        signal.throwIfAborted();
        return undefined;
      }
      const result = await first.result;
      started.shift();
      return result;
    },
    async isNextReady(withinMs) {
      begin();
      const first = started[0];
      if (first === undefined || first.isSettled) return true;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, withinMs, false)));
      const settled = first.result.then(isSo, isSo);
      return Promise.race([settled, late]).finally(() => clearTimeout(timer));
    },
    async stop() {
      stopping.abort();
      await Promise.allSettled(started.map(({ result }) => result));
    },
  };
}

const isSo = (): true => true;
