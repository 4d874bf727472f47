import type { Db } from '@opentill/db/database';
import type { WalletKey, WalletStore } from '../payouts/payout-facts.ts';
import { closeDecision } from './close-decisions.ts';
import { saveBalances } from './save-findings.ts';
import { readRaw, saveSent, announcePayouts, type EventDeps } from './save-sent.ts';
import { readSpent } from './spent.ts';
import { underLeaseOf } from './under-lease.ts';

export function createWalletStore(
  db: Db,
  key: WalletKey,
  deps: EventDeps,
): Omit<WalletStore, 'saveObstacles'> {
  const underLease = underLeaseOf(db);
  return {
    spent: () => readSpent(db, key),
    readRaw: (txHashes) => readRaw(db, key, txHashes),
    recordSent: (lease, sent) =>
      underLease(lease, async (tx, token) => {
        const orderPks = await saveSent(tx, key, token, sent);
        await announcePayouts(tx, key, orderPks, deps);
        return orderPks;
      }),
    dismiss: (lease, decisionId, why) => underLease(lease, (tx) => closeDecision(tx, decisionId, why)),
    saveBalances: (lease, block, rows) => underLease(lease, (tx) => saveBalances(tx, key, block, rows)),
  };
}
