import type { Observe } from './observe.ts';

/**
 * What happens at deposit addresses: counted and logged as of hot wallets, but for what is measured of a wallet or a chain at a
 * moment. They are many and each is driven for a moment alone, and the hot wallet's measures are not to be written over.
 */
export function observeDeposits(observe: Observe): Observe {
  const nothing = () => undefined;
  return {
    ...observe,
    foreignNonces: (key, nonces) => observe.depositUsed(key, nonces),
    looked: nothing,
    leads: (key, isLeader) => (isLeader ? undefined : observe.ended(key)),
    balances: nothing,
    gaps: nothing,
    chainAhead: nothing,
    chainStopped: nothing,
    clocksDiffer: nothing,
    newBlockKeys: nothing,
    poolDisbelieved: nothing,
    feesAtCap: nothing,
  };
}
