import type { OpenNonce } from './store/nonce-facts.ts';

export interface PoolClaims {
  /**
   * - SINGLE_SOURCE: one source's pool is ahead of the database; another source answered and is not, nor are blocks.
   * - CONFIRMED: blocks or two sources are ahead.
   * - QUIET: no source is ahead, or none answered.
   */
  note(result: 'SINGLE_SOURCE' | 'CONFIRMED' | 'QUIET', atMs: number): void;
  isBelieved(limitMs: number): boolean;
  /**
   * Ends the pause. Transactions that move no money get the claimed nonces, at most `most` until they are confirmed.
   */
  leave(lowest: number, highest: number, most: number): void;
  /** No payout gets a nonce up to this one, and payouts wait until all of them are final; -1: none. */
  leftTo(): number;
  /** A driver that begins cannot know why nonces are being filled, so it takes each CANCEL in flight for a claim. */
  inherit(nonces: readonly OpenNonce[]): void;
}

/**
 * No block ever refutes a source's pool, so a Byzantine source could stop a wallet permanently. And a source without a
 * pool contradicts an honest one. So a pool that only one source shows is believed for a limited total time, until
 * blocks or another source confirm it. After that the claimed nonces are used up. A wrong claim then costs some fees,
 * and a right one harms no payout.
 * @param stepMaxMs most time that counts between two checks: without checks, no source was contradicted
 */
export function createPoolClaims(stepMaxMs: number): PoolClaims {
  let spentMs = 0;
  let sinceMs: number | undefined;
  let left = -1;
  let ceiling: number | undefined;
  let isNew = true;
  return {
    note(result, atMs) {
      if (result === 'SINGLE_SOURCE' && sinceMs !== undefined)
        spentMs += Math.min(stepMaxMs, Math.max(0, atMs - sinceMs));
      if (result === 'CONFIRMED') {
        spentMs = 0;
        ceiling = undefined;
      }
      sinceMs = result === 'SINGLE_SOURCE' ? atMs : undefined;
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
