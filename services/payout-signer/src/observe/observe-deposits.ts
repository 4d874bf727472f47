import type { Observe } from './observe.ts';

/** No gauges: there are many deposit addresses, and they must not overwrite the hot wallet's values. */
export function observeDeposits(observe: Observe): Observe {
  const ignore = () => undefined;
  return {
    ...observe,
    foreignNonces: (key, nonces) => observe.depositUsed(key, nonces),
    viewRead: ignore,
    leads: (key, isLeader) => (isLeader ? undefined : observe.ended(key)),
    balances: ignore,
    gaps: ignore,
    chainAhead: ignore,
    chainStopped: ignore,
    clocksDiffer: ignore,
    newBlockKeys: ignore,
    poolDisbelieved: ignore,
    feesAtCap: ignore,
  };
}
