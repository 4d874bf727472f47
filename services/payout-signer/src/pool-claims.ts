/** What the pool of one source alone was said to hold; see createPoolClaims. */
export interface PoolClaims {
  /**
   * Notes what a look at the chain's counts said. ALONE: one source's pool is ahead of what is known, and another one, which
   * answered, and the blocks are not. BORNE_OUT: blocks or two sources are ahead. QUIET: nobody is, or nobody could look.
   */
  note(said: 'ALONE' | 'BORNE_OUT' | 'QUIET', atMs: number): void;
  /** Whether one source's pool is still enough to wait. */
  isBelieved(limitMs: number): boolean;
}

/**
 * No block ever refutes what a source says of its pool, so one that lies about it could stop a wallet for ever. It is believed
 * alone for so long in all: time and again it may stop and begin anew, and gets no more of it until blocks or another
 * source once say the same.
 *
 * @param stepMaxMs what counts at most between two looks: while nobody looked, nobody was contradicted
 */
export function createPoolClaims(stepMaxMs: number): PoolClaims {
  let spentMs = 0;
  let sinceMs: number | undefined;
  return {
    note(said, atMs) {
      if (said === 'ALONE' && sinceMs !== undefined)
        spentMs += Math.min(stepMaxMs, Math.max(0, atMs - sinceMs));
      if (said === 'BORNE_OUT') spentMs = 0;
      sinceMs = said === 'ALONE' ? atMs : undefined;
    },
    isBelieved: (limitMs) => spentMs < limitMs,
  };
}
