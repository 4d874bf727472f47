import type { ClaimLimits } from './store/claim-due.ts';

export interface AttemptSlots {
  /** How many may be claimed now, of which kind. */
  free(): Pick<ClaimLimits, 'limit' | 'openLimit' | 'probeLimit'>;
  /** Counts an attempt, which never rejects, until it has ended. */
  take(attempt: Promise<void>, kind: { readonly isProbe: boolean }): void;
  /** Resolves when all attempts taken so far have ended. */
  ended(): Promise<void>;
}

export interface AttemptSlotsOptions {
  /** Most attempts that are younger than `slowAfterMs`. */
  readonly concurrency: number;
  readonly slowAfterMs: number;
  /** Called when there is more room than before. */
  readonly onRoom: () => void;
}

/** Of the slots, the share kept for first attempts at endpoints that are well. */
const RESERVED_SHARE = 0.25;
/** So many times more attempts may be under way than may be young. */
const SLOW_ROOM = 8;

/**
 * Bounds the attempts of a process. What costs is to begin one: claim, look up, connect, sign. One that merely waits for
 * its receiver costs a socket. So an attempt takes up one of few slots for its first moment only, and one of many from
 * then on; receivers that hang, however many begin to at the same time, keep the others waiting for moments.
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
