import type { Address } from '@opentill/chain/address-codec';
import type { Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import type { Chain } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Observe } from '../observe/observe.ts';
import { markUnpayable, refuseUnpayable } from '../store/mark-unpayable.ts';

export interface UnpayableDeps {
  readonly db: Db;
  readonly logger: Logger;
  readonly observe: Observe;
  readonly key: { readonly chain: Chain; readonly wallet: Address };
  readonly instanceId: string;
  readonly leaseTtlMs: number;
  readonly newId: () => string;
  readonly clock: { now(): Date };
}

/**
 * Notes on the payouts of a wallet why nobody signs them, where the network file does not say how payouts of its chain are paid:
 * nothing drives such a wallet, and they would wait without a word; those that wait for approval for ever. They end when
 * their time is up, or operators refuse them. Under the wallet's lease, as whatever is written of its payouts.
 */
export function startMarkingUnpayable(deps: UnpayableDeps): Loop {
  const { db, logger, observe, key, instanceId, leaseTtlMs } = deps;
  const name = `wallet/${key.chain}/${key.wallet}`;
  const keeper = keepLease({ db, schema: 'signer', name, holder: instanceId, ttlMs: leaseTtlMs, logger });
  const loop = startLoop({
    name: `unpayable ${key.chain} ${key.wallet}`,
    intervalMs: leaseTtlMs / 3,
    run: async () => {
      const lease = await keeper.acquire();
      if (lease === undefined) return undefined;
      const refused = await refuseUnpayable(db, key, lease, deps);
      if (refused.length > 0) {
        const taken = { finalNonces: [], reopenedNonces: [], freedNonces: [], vetoedOrderPks: refused };
        observe.takenIn(key, taken);
      }
      const { orderPks, isAll } = await markUnpayable(db, key, lease);
      for (const orderPk of orderPks) observe.hindered(key, orderPk, 'PAYOUTS_NOT_CONFIGURED');
      return isAll ? undefined : 'again';
    },
    onError: (error, failuresInRow) => observe.passFailed(key, error, failuresInRow),
  });
  return {
    wake: () => loop.wake(),
    async stop() {
      await loop.stop();
      await keeper.release().catch((error: unknown) => observe.passFailed(key, error, 1));
    },
  };
}
