import type { Db } from '@opentill/db/database';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import { closeDecision } from '../../store/close-decisions.ts';
import { createWalletStore } from '../../store/create-wallet-store.ts';
import { readMoves } from '../../store/read-payouts.ts';
import { noteObstacles } from '../../store/save-authorised.ts';
import { freeNoncesOf, haltRestored } from '../../store/save-findings.ts';
import { announcePayouts, type EventDeps } from '../../store/save-sent.ts';
import { lockWindows, readSpent } from '../../store/spent.ts';
import { outcomeOf, underLeaseOf } from '../../store/under-lease.ts';
import { adoptPayment } from './adopt.ts';
import { readView } from './read-view.ts';
import type { PayoutStore } from './payout-store.ts';
import { readTransactionsOf } from './read-transactions.ts';
import { saveAuthorisations } from './reserve-nonces.ts';
import { saveAllowed, saveReplacement } from './save-signed.ts';
import { keepFromPayouts, saveTaken } from './save-taken.ts';
import { findNews, applyExternalUpdates } from './apply-external-updates.ts';

export interface PayoutStoreDeps extends EventDeps {
  /** Its balance only goes to cold storage and hot wallets, so a third party's use of its key halts no wallet. */
  readonly isDeposit?: boolean;
}

export function createPayoutStore(db: Db, key: WalletKey, deps: PayoutStoreDeps): PayoutStore {
  const underLease = underLeaseOf(db);
  return {
    ...createWalletStore(db, key, deps),
    readView: (options) => readView(db, key, options),
    async applyExternalUpdates(lease, view) {
      const news = await findNews(db, key, view);
      if (Object.values(news).every((found) => found.length === 0)) return undefined;
      return underLease(lease, async (tx, token) => {
        const vetoedOrderPks = await applyExternalUpdates(tx, key, token, news);
        await announcePayouts(tx, key, vetoedOrderPks, deps);
        return { ...news, vetoedOrderPks };
      });
    },
    authorise: (lease, firstNonce, decide) =>
      underLease(lease, async (tx, token) => {
        await lockWindows(tx, key);
        const decisions = decide(await readSpent(tx, key));
        const saved = await saveAuthorisations(tx, key, token, decisions, firstNonce);
        await announcePayouts(tx, key, saved.refused, deps);
        return saved.authorised;
      }),
    saveObstacles: (lease, obstacles) =>
      underLease(lease, async (tx, token) => {
        await noteObstacles(tx, key, token, obstacles);
        const blocked = obstacles.map(({ orderPk }) => orderPk);
        await freeNoncesOf(tx, key, blocked);
      }),
    saveSigned: (lease, attempts, chooseRefused) =>
      outcomeOf(underLease(lease, (tx, token) => saveAllowed(tx, key, token, attempts, chooseRefused))),
    saveReplacement: (lease, attempt) =>
      outcomeOf(underLease(lease, (tx) => saveReplacement(tx, key, attempt))),
    readMoves: (orderPks) => readMoves(db, orderPks),
    markTaken: (lease, nonces, reason) =>
      underLease(lease, (tx, token) =>
        saveTaken(tx, key, token, nonces, reason, deps.isDeposit === true ? null : deps.newId()),
      ),
    haltRestored: (lease, mark, reason) =>
      deps.isDeposit === true
        ? Promise.resolve(false)
        : underLease(lease, (tx) => haltRestored(tx, key, mark, reason, deps.newId())),
    keepFromPayouts: (lease, mark, first) =>
      underLease(lease, async (tx) => (await keepFromPayouts(tx, key, mark, first)) > 0),
    transactionsOf: (orderPks) => readTransactionsOf(db, key, orderPks),
    adopt: (lease, decision, found) =>
      underLease(lease, async (tx, token) => {
        const adoption = await adoptPayment(tx, key, token, decision, found);
        if (adoption.kind === 'LATER') return adoption;
        const why = adoption.kind === 'NOT_POSSIBLE' ? adoption.why : undefined;
        await closeDecision(tx, decision.decisionId, why);
        if (why === undefined) await announcePayouts(tx, key, [decision.payout.orderPk], deps);
        return adoption;
      }),
  };
}
