export interface ShownHead {
  readonly height: number;
  readonly timeSeconds: number;
}

export interface HeadWatch {
  /** Compares the source's head with the last heads of the others. */
  note(place: number, head: ShownHead): void;
  trouble(place: number): 'LAGGING' | 'STUCK' | null;
  /** Distance behind the best head when it was recorded; null before. */
  lagBlocks(place: number): number | null;
  /** Since when every head of the source was older than `staleSeconds`; undefined: the last was not. */
  oldSinceMs(place: number): number | undefined;
  /** Moment by `nowMs`; -Infinity before the first head. */
  notedAtMs(place: number): number;
}

export interface HeadWatchConfig {
  readonly blockTimeMs: number;
  /** An older head means that the source, or the chain, has stopped. */
  readonly staleSeconds: number;
  /** Monotonic. */
  readonly nowMs: () => number;
  readonly epochSeconds: () => number;
}

interface Noted extends ShownHead {
  readonly atMs: number;
  readonly movedAtMs: number;
  readonly oldSinceMs: number | undefined;
  readonly lagBlocks: number;
  readonly trouble: 'LAGGING' | 'STUCK' | null;
}

/**
 * A smaller distance is the time between two requests. A lagging head must also be old by the clock. Otherwise a node
 * that invents newer heads could make honest ones unusable and be accepted as the single source.
 */
const LAG_BLOCKS = 3;
const LAG_SECONDS = 10;
const AGE_SECONDS_MIN = 10;
/** Honest heads are rarely older: a slot or two without a block are normal. */
const AGE_BLOCKS = 3;
/** A lagging source is usable again within either of these distances. */
const RECOVERED_BLOCKS = 1;
const RECOVERED_SECONDS = 5;
const STUCK_MS_MIN = 30_000;
const STUCK_BLOCKS = 20;
/** Heads further ahead of the clock are ignored: a node that invents heights must not make others look slow. */
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
