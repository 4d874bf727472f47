import type { OpenNonce } from './store/nonce-facts.ts';

/** What the pool of one source alone was said to hold; see createPoolClaims. */
export interface PoolClaims {
  /**
   * Notes what a look at the chain's counts said. ALONE: one source's pool is ahead of what is known, and another one, which
   * answered, and the blocks are not. BORNE_OUT: blocks or two sources are ahead. QUIET: nobody is, or nobody could look.
   */
  note(said: 'ALONE' | 'BORNE_OUT' | 'QUIET', atMs: number): void;
  /** Whether one source's pool is still enough to wait. */
  isBelieved(limitMs: number): boolean;
  /**
   * Waits no more: the nonces from `lowest` on that a pool is said to hold, below `highest`, are left to transactions that move
   * nothing. Of all that is claimed until it is borne out at most `most`: no more than that were ever on their way at once.
   */
  leave(lowest: number, highest: number, most: number): void;
  /** Up to this nonce no payout gets one, and payouts wait until all of those are final; -1: nowhere. */
  leftTo(): number;
  /**
   * What a driver that begins finds: nobody knows why its nonces are being filled, so it takes each of those on its way for one
   * that was left. All calls but the first do nothing.
   */
  inherit(nonces: readonly OpenNonce[]): void;
}

/**
 * No block ever refutes what a source says of its pool, so one that lies about it could stop a wallet for ever; and one that has
 * no pool contradicts the honest one that has ours. So a pool is believed alone for so long in all: time and again it may stop
 * and begin anew, and gets no more of it until blocks or another source once say the same. Then the nonces that it claims are
 * used up, which costs a liar's victim some fees, and whoever told the truth nothing.
 *
 * @param stepMaxMs what counts at most between two looks: while nobody looked, nobody was contradicted
 */
export function createPoolClaims(stepMaxMs: number): PoolClaims {
  let spentMs = 0;
  let sinceMs: number | undefined;
  let left = -1;
  let ceiling: number | undefined;
  let isNew = true;
  return {
    note(said, atMs) {
      if (said === 'ALONE' && sinceMs !== undefined)
        spentMs += Math.min(stepMaxMs, Math.max(0, atMs - sinceMs));
      if (said === 'BORNE_OUT') {
        spentMs = 0;
        ceiling = undefined;
      }
      sinceMs = said === 'ALONE' ? atMs : undefined;
    },
    isBelieved: (limitMs) => spentMs < limitMs,
    leave(lowest, highest, most) {
      ceiling ??= lowest + most - 1;
      left = Math.max(left, Math.min(highest - 1, ceiling));
    },
    leftTo: () => left,
    inherit(nonces) {
      if (isNew)
        for (const { nonce, purpose } of nonces) if (purpose === 'CANCEL') left = Math.max(left, nonce);
      isNew = false;
    },
  };
}
