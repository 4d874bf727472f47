import type { Db } from '@opentill/db/database';
import type { WalletKey, WalletStore } from '../payouts/payout-facts.ts';
import { closeDecision } from './close-decisions.ts';
import { saveBalances } from './save-findings.ts';
import { readRaw, saveSent, announcePayouts, type EventDeps } from './save-sent.ts';
import { readTraces } from './read-traces.ts';
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
    tracesOf: (orderPks) => readTraces(db, orderPks),
    readRaw: (txHashes) => readRaw(db, key, txHashes),
    recordSent: (lease, sent) =>
      underLease(lease, async (tx, token) => {
        const orderPks = await saveSent(tx, key, token, sent);
        const traced =
          orderPks.length === 1 ? sent.find(({ orderPk }) => orderPk === orderPks[0]) : undefined;
        await announcePayouts(tx, key, orderPks, deps, traced?.traceparent);
        return orderPks;
      }),
    dismiss: (lease, decisionId, why) => underLease(lease, (tx) => closeDecision(tx, decisionId, why)),
    saveBalances: (lease, block, rows) => underLease(lease, (tx) => saveBalances(tx, key, block, rows)),
  };
}
