/**
 * Reads several things at once and hands them over strictly in order.
 *
 * Reads the items with at most `ahead()` begun and not yet handed over: that bounds calls and memory alike. Whoever asks
 * for the next begins more, one at least. `signal` aborts all of them.
 */
export function createReadAhead<I, R>(options: {
  readonly items: Iterator<I, unknown, undefined>;
  readonly read: (item: I, signal: AbortSignal) => Promise<R>;
  readonly ahead: () => number;
  readonly signal?: AbortSignal | undefined;
}) {
  const { items, read, ahead } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, ...(options.signal ? [options.signal] : [])]);
  const started: { readonly result: Promise<R>; isSettled: boolean }[] = [];

  function begin(): void {
    while (started.length < Math.max(1, ahead()) && !signal.aborted) {
      const item = items.next();
      if (item.done === true) return;
      const one = { result: read(item.value, signal), isSettled: false };
      const settle = (): void => {
        one.isSettled = true;
      };
      one.result.then(settle, settle);
      started.push(one);
    }
  }

  return {
    /** The next result; undefined behind the last. Rejects with what its reading threw; nothing follows after that. */
    async next(): Promise<R | undefined> {
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
    /** Whether `next` has something to hand over, or nothing follows: at once, or within so many milliseconds. */
    async isNextReady(withinMs: number): Promise<boolean> {
      begin();
      const first = started[0];
      if (first === undefined || first.isSettled) return true;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, withinMs, false)));
      const settled = first.result.then(isSo, isSo);
      return Promise.race([settled, late]).finally(() => clearTimeout(timer));
    },
    /** Ends what is under way, and resolves when it ended; nothing more is begun. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.allSettled(started.map(({ result }) => result));
    },
  };
}

const isSo = (): true => true;

/** So many transfers and transactions, some 500 bytes each, may be read at once. */
const READINGS_AHEAD = 50_000;
/** Before it is known how full they are. */
const SEGMENTS_AT_FIRST = 2;
/** The fullest of so many counts: a few empty blocks among full ones do not raise the limit. */
const SEGMENTS_REMEMBERED = 16;

export type ReadingLimit = ReturnType<typeof createReadingLimit>;

/** Limits how many segments are read at once, by how full the last ones were. */
export function createReadingLimit() {
  const last: number[] = [];
  return {
    /** A segment was read that had so many transfers and transactions. */
    note(readings: number): void {
      last.push(readings);
      if (last.length > SEGMENTS_REMEMBERED) last.shift();
    },
    /** At least one, at most `most`. */
    segments(most: number): number {
      if (last.length === 0) return Math.min(most, SEGMENTS_AT_FIRST);
      return Math.min(most, Math.max(1, Math.floor(READINGS_AHEAD / Math.max(1, ...last))));
    },
  };
}
