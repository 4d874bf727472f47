import { noncesToReserve, type OpenNonce } from './store/nonce-facts.ts';

export function freeNonces(nonces: readonly OpenNonce[]): readonly number[] {
  return nonces.filter((n) => n.state === 'RESERVED' && n.orderPk === null).map((n) => n.nonce);
}

/** The lowest unsigned nonces, whichever payout reserved them. So a payout that is not ready leaves no gap. */
export function noncesToSign(
  nonces: readonly OpenNonce[],
  nextNonce: number,
  count: number,
): readonly number[] {
  const reserved = nonces.filter((n) => n.state === 'RESERVED').map((n) => n.nonce);
  return noncesToReserve(reserved, nextNonce, count);
}

/** RESERVED nonces below a SIGNED one block all nonces above. Also those up to `usedUp`, which no payout may get. */
export function findGaps(nonces: readonly OpenNonce[], usedUp = -1): readonly OpenNonce[] {
  const highestSigned = Math.max(-1, ...nonces.filter((n) => n.state === 'SIGNED').map((n) => n.nonce));
  return nonces.filter((n) => n.state === 'RESERVED' && (n.nonce < highestSigned || n.nonce <= usedUp));
}

/** If the chain counts more transactions than this, it holds one that the database does not know. */
export function lowestUnsigned(nonces: readonly OpenNonce[], next: number): number {
  return Math.min(next, ...nonces.filter((n) => n.state === 'RESERVED').map((n) => n.nonce));
}

/** Nonces in a block do not count: no pool holds them. */
export function freeSlots(nonces: readonly OpenNonce[], maxOpen: number): number {
  const open = nonces.filter((n) =>
    n.state === 'RESERVED' ? n.orderPk !== null : !n.attempts.some((attempt) => attempt.isMined),
  );
  return Math.max(0, maxOpen - open.length);
}
