/**
 * Returns results in order. At most `ahead()` items, and at least one, are started and not yet returned; this bounds
 * calls and memory. Each call of `next` starts more.
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
    /** Undefined after the last. Rejects with the error of its read; no result follows. */
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
    /** True once `next` would not wait, false after `withinMs`. */
    async isNextReady(withinMs: number): Promise<boolean> {
      begin();
      const first = started[0];
      if (first === undefined || first.isSettled) return true;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, withinMs, false)));
      const settled = first.result.then(yes, yes);
      return Promise.race([settled, late]).finally(() => clearTimeout(timer));
    },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.allSettled(started.map(({ result }) => result));
    },
  };
}

const yes = (): true => true;

/** Transfers and transactions in memory, about 500 bytes each. */
const READINGS_AHEAD = 50_000;
const SEGMENTS_AT_FIRST = 2;
/** The fullest of the last 16 segments counts, so that a few empty blocks do not raise the limit. */
const SEGMENTS_REMEMBERED = 16;

export type ReadingLimit = ReturnType<typeof createReadingLimit>;

export function createReadingLimit() {
  const last: number[] = [];
  return {
    /** `readings`: transfers and transactions of a segment. */
    note(readings: number): void {
      last.push(readings);
      if (last.length > SEGMENTS_REMEMBERED) last.shift();
    },
    /** From 1 to `most`. */
    segments(most: number): number {
      if (last.length === 0) return Math.min(most, SEGMENTS_AT_FIRST);
      return Math.min(most, Math.max(1, Math.floor(READINGS_AHEAD / Math.max(1, ...last))));
    },
  };
}
