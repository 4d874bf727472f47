import type { Chain, Family } from '@opentill/domain/chains';
import type { Store } from './store/create-store.ts';

/** Whether chains take orders. */
export interface ChainReadiness {
  /**
   * True once the chain's scanner has committed a first cursor: from then on no payment can be missed. That stays
   * true, so a yes is remembered; a no is asked again.
   */
  isReady(chain: Chain): Promise<boolean>;
  /**
   * True once `opentill setup` has written the hot wallet down: nothing is reserved from another. It is never taken back, so a
   * yes is remembered; a no is asked again.
   */
  isHotWallet(family: Family, address: string): Promise<boolean>;
}

/** Asks the database until a chain is ready, or a wallet known, then never again. */
export function createChainReadiness(store: Pick<Store, 'readCursorAges' | 'isHotWallet'>): ChainReadiness {
  const ready = new Set<string>();
  const wallets = new Set<string>();
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
    async isHotWallet(family, address) {
      const key = `${family} ${address}`;
      if (!wallets.has(key) && (await store.isHotWallet(family, address))) wallets.add(key);
      return wallets.has(key);
    },
  };
}
