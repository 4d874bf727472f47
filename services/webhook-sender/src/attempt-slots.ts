import type { ClaimLimits } from './store/claim-due.ts';

export interface AttemptSlots {
  free(): Pick<ClaimLimits, 'limit' | 'openLimit' | 'probeLimit'>;
  /** The attempt must never reject. */
  take(attempt: Promise<void>, kind: { readonly isProbe: boolean }): void;
  ended(): Promise<void>;
}

export interface AttemptSlotsOptions {
  /** Of attempts younger than `slowAfterMs`. */
  readonly concurrency: number;
  readonly slowAfterMs: number;
  readonly onRoom: () => void;
}

/** Share of the slots for first attempts at healthy endpoints. */
const RESERVED_SHARE = 0.25;
const SLOW_ROOM = 8;

/**
 * Starting an attempt is expensive, and waiting for the receiver costs only a socket. So an attempt uses one of few
 * slots while it is young, and one of many afterwards. Hanging receivers delay the others only briefly.
 */
export function createAttemptSlots({ concurrency, slowAfterMs, onRoom }: AttemptSlotsOptions): AttemptSlots {
  const underWay = new Set<Promise<void>>();
  const young = new Set<Promise<void>>();
  let probes = 0;
  const freeOf = (share: number): number => {
    const ofYoung = Math.ceil(concurrency * share) - young.size;
    const ofAll = Math.ceil(concurrency * SLOW_ROOM * share) - underWay.size;
    return Math.max(0, Math.min(ofYoung, ofAll));
  };
  return {
    free: () => ({
      limit: freeOf(1),
      openLimit: freeOf(1 - RESERVED_SHARE),
      probeLimit: Math.max(0, concurrency - probes),
    }),
    take(attempt, { isProbe }) {
      underWay.add(attempt);
      young.add(attempt);
      if (isProbe) probes += 1;
      const slow = setTimeout(() => {
        young.delete(attempt);
        onRoom();
      }, slowAfterMs);
      void attempt.finally(() => {
        clearTimeout(slow);
        underWay.delete(attempt);
        young.delete(attempt);
        if (isProbe) probes -= 1;
        onRoom();
      });
    },
    ended: async () => void (await Promise.all(underWay)),
  };
}
