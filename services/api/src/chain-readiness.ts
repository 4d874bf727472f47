import type { Chain } from '@opentill/domain/chains';
import type { Store } from './store.ts';

/** Whether chains take orders. */
export interface ChainReadiness {
  /**
   * True once the chain's scanner has committed a first cursor: from then on no payment can be missed. That stays
   * true, so a yes is remembered; a no is asked again.
   */
  isReady(chain: Chain): Promise<boolean>;
}

/** Asks the database until a chain is ready, then never again. */
export function createChainReadiness(store: Pick<Store, 'readCursorAges'>): ChainReadiness {
  const ready = new Set<string>();
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    for (const chain of (await store.readCursorAges()).keys()) ready.add(chain);
  }
  return {
    async isReady(chain) {
      if (ready.has(chain)) return true;
      await (reading ??= read().finally(() => (reading = undefined)));
      return ready.has(chain);
    },
  };
}
