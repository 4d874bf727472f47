import type { Chain } from '@opentill/domain/chains';
import type { Observe } from './observe.ts';
import type { Store } from './store/create-store.ts';

/**
 * Logs each chain that the database lacks, or has with another identity, and each that was corrected: at the first call,
 * and when the set of mistakes changes. The api takes no order on such a chain; it serves everything else.
 */
export function createRegistrationWatch(
  store: Pick<Store, 'findUnregistered'>,
  observe: Pick<Observe, 'chainLeftOut' | 'chainRegistered'>,
): () => Promise<void> {
  let known: ReadonlyMap<Chain, string> = new Map();
  return async () => {
    const mistakes = await store.findUnregistered();
    for (const [chain, error] of mistakes)
      if (known.get(chain) !== error.message) observe.chainLeftOut(chain, error);
    for (const chain of known.keys()) if (!mistakes.has(chain)) observe.chainRegistered(chain);
    known = new Map([...mistakes].map(([chain, { message }]) => [chain, message]));
  };
}
