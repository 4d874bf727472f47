import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { Metrics } from '@opentill/runtime/metrics';
import { oldestWaitingSeconds } from '../store/oldest-waiting.ts';

/** From the database, so every replica reports the same. */
export function observeWaiting(metrics: Metrics, db: Db, chains: readonly Chain[]): void {
  metrics.gauge({
    name: 'opentill_signer_payout_oldest_unsigned_seconds',
    help: 'Age of the oldest payout that waits to be authorised or signed, also for an approval; 0: none',
    labelNames: ['chain'],
    async collect(gauge) {
      const oldest = await oldestWaitingSeconds(db).catch(() => undefined);
      if (oldest === undefined) return;
      for (const chain of chains) gauge.set({ chain }, oldest.get(chain) ?? 0);
    },
  });
}
