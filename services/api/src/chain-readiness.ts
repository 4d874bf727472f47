import type { Chain, Family } from '@opentill/domain/chains';
import type { Store } from './store/create-store.ts';

export interface ChainReadiness {
  /**
   * True once the chain's scanner has committed its first cursor, if the database has the chain as the networks file has
   * it: from then on no payment can be missed. This is permanent, so true is cached and false is not.
   */
  isReady(chain: Chain): Promise<boolean>;
  /**
   * True once `opentill setup` has registered the hot wallet; no other wallet may reserve a payout. This is permanent,
   * so true is cached and false is not.
   */
  isHotWallet(family: Family, address: string): Promise<boolean>;
}

/** Queries the database until a chain is ready or a wallet is known, then answers from memory. */
export function createChainReadiness(
  store: Pick<Store, 'readCursorAges' | 'findUnregistered' | 'isHotWallet'>,
): ChainReadiness {
  const ready = new Set<string>();
  const wallets = new Set<string>();
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const [ages, mistakes] = await Promise.all([store.readCursorAges(), store.findUnregistered()]);
    for (const chain of ages.keys()) if (!mistakes.has(chain as Chain)) ready.add(chain);
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
