import type { Obstacle } from '../payouts/payout-facts.ts';
import type { ChainCounts, PassContext } from './pass-deps.ts';
import type { WalletView } from './store/payout-store.ts';
import { lowestUnsigned } from './plan-nonces.ts';

export interface NonceGate {
  readonly pausedBy: Obstacle | undefined;
  /** Meaningless while paused. */
  readonly nextNonce: number;
}

/**
 * A wallet's first nonce is the chain's count at a verified block, by two sources; after that the database counts.
 *
 * The signer pauses if the chain or a pool has more transactions than the database has signed bytes for. Then a third
 * party has the key, or the database is older than what was signed. Nonces that are free again do not explain a higher
 * count: no bytes were stored for them.
 *
 * One source is enough to pause. A single source's pool that another one contradicts pauses for a limited time, because
 * no block refutes a pool. After that, transactions that move no money use up the claimed nonces (pool-claims.ts,
 * watch-restored.ts), and payouts get the nonces above.
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
  const isSingleSource = isAhead && !isProven && pending.answers > 1;
  poolClaims.note(isSingleSource ? 'SINGLE_SOURCE' : isProven ? 'CONFIRMED' : 'QUIET', atMs);
  const isDisbelieved = isSingleSource && !poolClaims.isBelieved(timing.poolBelievedMs);
  if (isDisbelieved) poolClaims.leave(lowest, pending.highest, terms.maxOpenNonces);
  observe.poolDisbelieved(key, isDisbelieved ? pending.highest - lowest : 0);
  return { pausedBy: isAhead && !isDisbelieved ? 'CHAIN_AHEAD' : undefined, nextNonce };
}
