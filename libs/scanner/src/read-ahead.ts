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

/** Limits how many segments are read at once, by how full the last ones were. */
export interface ReadingLimit {
  /** A segment was read that had so many transfers and transactions. */
  note(readings: number): void;
  /** At least one, at most `most`. */
  segments(most: number): number;
}

/** So many transfers and transactions, some 500 bytes each, may be read at once. */
const READINGS_AHEAD = 50_000;
/** Before it is known how full they are. */
const SEGMENTS_AT_FIRST = 2;
/** The fullest of so many counts: a few empty blocks among full ones do not raise the limit. */
const SEGMENTS_REMEMBERED = 16;

export function createReadingLimit(): ReadingLimit {
  const last: number[] = [];
  return {
    note(readings) {
      last.push(readings);
      if (last.length > SEGMENTS_REMEMBERED) last.shift();
    },
    segments(most) {
      if (last.length === 0) return Math.min(most, SEGMENTS_AT_FIRST);
      return Math.min(most, Math.max(1, Math.floor(READINGS_AHEAD / Math.max(1, ...last))));
    },
  };
}
