import { noncesToReserve, type OpenNonce } from './store/nonce-facts.ts';

/** RESERVED nonces that no payout holds, ascending. */
export function freeNonces(nonces: readonly OpenNonce[]): readonly number[] {
  return nonces.filter((n) => n.state === 'RESERVED' && n.orderPk === null).map((n) => n.nonce);
}

/**
 * Nonces for payouts that are ready to be signed, in their order: the lowest of all that are not signed yet, whoever they are
 * reserved for, then new ones. So every nonce below a signed one is signed too, and a payout that isn't ready leaves no gap.
 */
export function noncesToSign(
  nonces: readonly OpenNonce[],
  nextNonce: number,
  count: number,
): readonly number[] {
  const reserved = nonces.filter((n) => n.state === 'RESERVED').map((n) => n.nonce);
  return noncesToReserve(reserved, nextNonce, count);
}

/**
 * RESERVED nonces below a SIGNED one: while one is there, nothing above it can get into a block. And those up to
 * `usedUp`, which no payout may get.
 */
export function findGaps(nonces: readonly OpenNonce[], usedUp = -1): readonly OpenNonce[] {
  const highestSigned = Math.max(-1, ...nonces.filter((n) => n.state === 'SIGNED').map((n) => n.nonce));
  return nonces.filter((n) => n.state === 'RESERVED' && (n.nonce < highestSigned || n.nonce <= usedUp));
}

/**
 * The lowest nonce of which no bytes of ours were ever stored: reserved or free, or else `next`. A chain that counts more
 * transactions than this holds one that this database does not know.
 */
export function lowestUnsigned(nonces: readonly OpenNonce[], next: number): number {
  return Math.min(next, ...nonces.filter((n) => n.state === 'RESERVED').map((n) => n.nonce));
}

/** How many more nonces may be held or on their way. Those in a block are not counted: no node's pool holds them. */
export function freeSlots(nonces: readonly OpenNonce[], maxOpen: number): number {
  const open = nonces.filter((n) =>
    n.state === 'RESERVED' ? n.orderPk !== null : !n.attempts.some((attempt) => attempt.isMined),
  );
  return Math.max(0, maxOpen - open.length);
}
