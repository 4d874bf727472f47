/** A head as a source showed it. */
export interface ShownHead {
  readonly height: number;
  readonly timeSeconds: number;
}

/** Compares the heads that sources show; sources are named by their place. */
export interface HeadWatch {
  /** What a source shows now, compared with what the others showed last. */
  note(place: number, head: ShownHead): void;
  /** What a source showed counts no more: it was of another chain. */
  forget(place: number): void;
  trouble(place: number): 'LAGGING' | 'STUCK' | null;
  /** How far the source's head was behind when it was shown; null before. */
  lagBlocks(place: number): number | null;
  /** When the source last showed a head, by `nowMs`; -Infinity before. */
  notedAtMs(place: number): number;
}

export interface HeadWatchConfig {
  /** Usual time between blocks. */
  readonly blockTimeMs: number;
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Seconds since 1970. */
  readonly epochSeconds: () => number;
}

interface Noted extends ShownHead {
  readonly atMs: number;
  /** When the height last grew. */
  readonly movedAtMs: number;
  readonly lagBlocks: number;
  readonly trouble: 'LAGGING' | 'STUCK' | null;
}

/**
 * More than this is behind: fewer blocks or seconds are the time between two questions. The head must be so old by the
 * clock as well, or a node that invents newer heads could have the honest ones left out and be believed alone.
 */
const LAG_BLOCKS = 3;
const LAG_SECONDS = 10;
/** A source that was behind is well again when it is no further behind than this, in blocks or in seconds. */
const RECOVERED_BLOCKS = 1;
const RECOVERED_SECONDS = 5;
const STUCK_MS_MIN = 30_000;
const STUCK_BLOCKS = 20;
/** A head further ahead of the clock is nobody's measure: a node that invents heights must not make others look slow. */
const FUTURE_SECONDS = 60;

export function createHeadWatch(config: HeadWatchConfig): HeadWatch {
  const noted = new Map<number, Noted>();
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
          : lagBlocks > LAG_BLOCKS && Math.min(lagSeconds, ageSeconds) > LAG_SECONDS;
      const isStuck = lagBlocks > 0 && atMs - movedAtMs > stuckMs;
      const trouble = isStuck ? 'STUCK' : isBehind ? 'LAGGING' : null;
      noted.set(place, { height, timeSeconds, atMs, movedAtMs, lagBlocks, trouble });
    },
    forget: (place) => void noted.delete(place),
    trouble: (place) => noted.get(place)?.trouble ?? null,
    lagBlocks: (place) => noted.get(place)?.lagBlocks ?? null,
    notedAtMs: (place) => noted.get(place)?.atMs ?? -Infinity,
  };
}
