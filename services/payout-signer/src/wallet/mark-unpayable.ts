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
  /** After a commit of events. */
  readonly onCommitted: () => void;
  readonly newId: () => string;
  readonly clock: { now(): Date };
}

/**
 * No driver runs for a wallet whose chain has no `payouts`. Without this obstacle its payouts would wait without a
 * reason, and those that wait for approval permanently.
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
        deps.onCommitted();
        const taken = { finalNonces: [], reopenedNonces: [], freedNonces: [], vetoedOrderPks: refused };
        observe.externalUpdatesApplied(key, taken);
      }
      const { orderPks, isAll } = await markUnpayable(db, key, lease);
      for (const orderPk of orderPks) observe.blocked(key, orderPk, 'PAYOUTS_NOT_CONFIGURED');
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
