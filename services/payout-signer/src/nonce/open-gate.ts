import type { Obstacle } from '../payouts/payout-facts.ts';
import type { ChainCounts, PassContext } from './pass-deps.ts';
import type { WalletView } from './store/payout-store.ts';
import { lowestUnsigned } from './plan-nonces.ts';

/** What the chain says of the wallet's nonces before any is given out. */
export interface NonceGate {
  /** Why none may be given out now. */
  readonly pausedBy: Obstacle | undefined;
  /** The next one that was never given out; meaningless while paused. */
  readonly nextNonce: number;
}

/**
 * Whether nonces may be given out, and from where on. The first of a wallet is the chain's own count at a verified block, by
 * two sources; from then on the database counts, and more in the chain or in a pool than there are bytes of ours for, means
 * that somebody else has our key, or that this database is older than what was signed: then nothing is signed until that is
 * settled. Nonces that were given out and are free again hide nothing: no bytes of ours explain that the chain has them.
 * One source's word is enough to wait; of its pool alone, which no block refutes, for so long and no longer: then what it claims
 * is left to transactions that move nothing (pool-claims.ts, watch-restored.ts), and payouts get what comes after.
 */
export async function openGate(
  context: PassContext,
  view: WalletView,
  { atMs, latest, pending }: ChainCounts,
): Promise<NonceGate> {
  const { sender, key, signal, memory, terms, timing, observe } = context;
  const { poolClaims } = memory;
  poolClaims.inherit(view.nonces);
  if (view.cursor === null) {
    poolClaims.note('QUIET', atMs);
    return { pausedBy: 'CHAIN_BEHIND', nextNonce: 0 };
  }
  const nextNonce = view.nextNonce ?? (await sender.countAt(key.wallet, view.cursor.verified, { signal }));
  const lowest = lowestUnsigned(view.nonces, nextNonce);
  const isAhead = Math.max(latest, pending.highest) > lowest;
  const isProven = Math.max(latest, pending.agreed) > lowest;
  const isAlone = isAhead && !isProven && pending.answers > 1;
  poolClaims.note(isAlone ? 'ALONE' : isProven ? 'BORNE_OUT' : 'QUIET', atMs);
  const isDisbelieved = isAlone && !poolClaims.isBelieved(timing.poolBelievedMs);
  if (isDisbelieved) poolClaims.leave(lowest, pending.highest, terms.maxOpenNonces);
  observe.poolDisbelieved(key, isDisbelieved ? pending.highest - lowest : 0);
  return { pausedBy: isAhead && !isDisbelieved ? 'CHAIN_AHEAD' : undefined, nextNonce };
}
