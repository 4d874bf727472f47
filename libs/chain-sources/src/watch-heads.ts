/** A head as a source showed it. */
export interface ShownHead {
  readonly height: number;
  readonly timeSeconds: number;
}

/** Compares the heads that sources show; sources are named by their place. */
export interface HeadWatch {
  /** What a source shows now, compared with what the others showed last. */
  note(place: number, head: ShownHead): void;
  trouble(place: number): 'LAGGING' | 'STUCK' | null;
  /** How far the source's head was behind when it was shown; null before. */
  lagBlocks(place: number): number | null;
  /** Since when every head that the source showed was older than `staleSeconds` by the clock; undefined: none was. */
  oldSinceMs(place: number): number | undefined;
  /** When the source last showed a head, by `nowMs`; -Infinity before. */
  notedAtMs(place: number): number;
}

export interface HeadWatchConfig {
  /** Usual time between blocks. */
  readonly blockTimeMs: number;
  /** A head older than this says that the source, or the chain, stands still. */
  readonly staleSeconds: number;
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Seconds since 1970. */
  readonly epochSeconds: () => number;
}

interface Noted extends ShownHead {
  readonly atMs: number;
  /** When the height last grew. */
  readonly movedAtMs: number;
  readonly oldSinceMs: number | undefined;
  readonly lagBlocks: number;
  readonly trouble: 'LAGGING' | 'STUCK' | null;
}

/**
 * More than this is behind: fewer blocks or seconds are the time between two questions. The head must be so old by the
 * clock as well, or a node that invents newer heads could have the honest ones left out and be believed alone.
 */
const LAG_BLOCKS = 3;
const LAG_SECONDS = 10;
const AGE_SECONDS_MIN = 10;
/** An honest head is seldom older: a slot or two without a block are ordinary. */
const AGE_BLOCKS = 3;
/** A source that was behind is well again when it is no further behind than this, in blocks or in seconds. */
const RECOVERED_BLOCKS = 1;
const RECOVERED_SECONDS = 5;
const STUCK_MS_MIN = 30_000;
const STUCK_BLOCKS = 20;
/** A head further ahead of the clock is nobody's measure: a node that invents heights must not make others look slow. */
const FUTURE_SECONDS = 60;

export function createHeadWatch(config: HeadWatchConfig): HeadWatch {
  const noted = new Map<number, Noted>();
  const ageSecondsMin = Math.max(AGE_SECONDS_MIN, (AGE_BLOCKS * config.blockTimeMs) / 1_000);
  const stuckMs = Math.max(STUCK_MS_MIN, STUCK_BLOCKS * config.blockTimeMs);

  function bestOfOthers(place: number): Noted | undefined {
    const others = [...noted].flatMap(([other, head]) => (other === place ? [] : [head]));
    return others.reduce<Noted | undefined>(
      (a, b) => (a === undefined || b.height > a.height ? b : a),
      undefined,
    );
  }

  return {
    note(place, { height, timeSeconds }) {
      if (timeSeconds > config.epochSeconds() + FUTURE_SECONDS) return;
      const atMs = config.nowMs();
      const before = noted.get(place);
      const best = bestOfOthers(place);
      const movedAtMs = before === undefined || height > before.height ? atMs : before.movedAtMs;
      const lagBlocks = Math.max(0, (best?.height ?? height) - height);
      const lagSeconds = Math.max(0, (best?.timeSeconds ?? timeSeconds) - timeSeconds);
      const ageSeconds = config.epochSeconds() - timeSeconds;
      const isBehind =
        before?.trouble === 'LAGGING'
          ? lagBlocks > RECOVERED_BLOCKS && lagSeconds > RECOVERED_SECONDS
          : lagBlocks > LAG_BLOCKS && lagSeconds > LAG_SECONDS;
      const isStuck = lagBlocks > 0 && atMs - movedAtMs > stuckMs;
      const found = isStuck ? 'STUCK' : isBehind ? 'LAGGING' : null;
      const trouble = ageSeconds > ageSecondsMin ? found : null;
      const oldSinceMs = ageSeconds > config.staleSeconds ? (before?.oldSinceMs ?? atMs) : undefined;
      noted.set(place, { height, timeSeconds, atMs, movedAtMs, oldSinceMs, lagBlocks, trouble });
    },
    trouble: (place) => noted.get(place)?.trouble ?? null,
    lagBlocks: (place) => noted.get(place)?.lagBlocks ?? null,
    oldSinceMs: (place) => noted.get(place)?.oldSinceMs,
    notedAtMs: (place) => noted.get(place)?.atMs ?? -Infinity,
  };
}
