import type { Clock } from '@opentill/runtime/clock';
import type { Scanning } from './scanning.ts';

/** How long a pause, or its end, may go unnoticed. */
const LOOKUP_INTERVAL_MS = 2_000;

/**
 * Makes the function that tells whether an operator has paused the chain. It is looked up every few seconds, so that it
 * costs nothing beside the rounds. A paused chain keeps its lease: no other replica goes on in its place.
 */
export function createPauseWatch({
  network,
  store,
  observe,
  clock,
}: Pick<Scanning, 'network' | 'store' | 'observe'> & { readonly clock: Clock }): () => Promise<boolean> {
  let isPaused = false;
  let lookupAtMs = 0;
  return async () => {
    const nowMs = clock.now().getTime();
    if (nowMs < lookupAtMs) return isPaused;
    const reason = await store.pauseReason(network.chain);
    lookupAtMs = nowMs + LOOKUP_INTERVAL_MS;
    isPaused = reason !== undefined;
    observe.pauseSeen(network.chain, reason);
    return isPaused;
  };
}
