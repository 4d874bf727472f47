import type { Db } from '@opentill/db/database';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import { closeDecision } from '../../store/close-decisions.ts';
import { createWalletStore } from '../../store/create-wallet-store.ts';
import { noteObstacles, saveDecisions } from '../../store/save-authorised.ts';
import { haltRestored } from '../../store/save-findings.ts';
import { announcePayouts, type EventDeps } from '../../store/save-sent.ts';
import { lockWindows, readSpent } from '../../store/spent.ts';
import { NotSaved, outcomeOf, underLeaseOf } from '../../store/under-lease.ts';
import { adoptExpiring } from './adopt.ts';
import type { AttemptStore } from './attempt-store.ts';
import { markAttemptsDead } from './mark-dead.ts';
import { readElsewhere, type Sponsoring } from './read-other-wallets.ts';
import { readOpenGatherings, saveGathering } from './gatherings.ts';
import { haltForeign } from './halt-foreign.ts';
import { readView } from './read-view.ts';
import { saveAttempts } from './save-signed.ts';
import { findNews, applyExternalUpdates } from './apply-external-updates.ts';

export function createAttemptStore(db: Db, key: WalletKey, deps: EventDeps & Sponsoring): AttemptStore {
  const underLease = underLeaseOf(db);
  return {
    ...createWalletStore(db, key, deps),
    readView: (options) => readView(db, key, options, deps),
    async applyExternalUpdates(lease, view) {
      const news = await findNews(db, key, view);
      if (Object.values(news).every((found) => found.length === 0)) return undefined;
      return underLease(lease, async (tx, token) => {
        const vetoedOrderPks = await applyExternalUpdates(tx, key, token, news);
        await announcePayouts(tx, key, vetoedOrderPks, deps);
        return { ...news, vetoedOrderPks };
      });
    },
    authorise: (lease, decide) =>
      underLease(lease, async (tx, token) => {
        await lockWindows(tx, key);
        const decisions = decide(await readSpent(tx, key));
        const saved = await saveDecisions(tx, key, token, decisions);
        await announcePayouts(tx, key, saved.refused, deps);
        return saved.authorised;
      }),
    saveObstacles: (lease, obstacles) =>
      underLease(lease, (tx, token) => noteObstacles(tx, key, token, obstacles)),
    saveSigned: (lease, payments, chooseRefused) =>
      outcomeOf(
        underLease(lease, async (tx, token) => {
          await lockWindows(tx, key);
          const orderPks = payments.map(({ orderPk }) => orderPk);
          const refused = chooseRefused({
            spent: await readSpent(tx, key, orderPks),
            ...(await readElsewhere(tx, key, deps)),
          });
          if (refused.length > 0) throw new NotSaved({ kind: 'GONE', orderPks: refused });
          await saveAttempts(tx, key, token, payments);
        }),
      ),
    markDead: (lease, txHashes, end, max) =>
      underLease(lease, (tx, token) => markAttemptsDead(tx, key, token, txHashes, end, max)),
    haltRestored: (lease, mark, reason) =>
      underLease(lease, (tx) => haltRestored(tx, key, mark, reason, deps.newId())),
    haltForeign: (lease, reason) => underLease(lease, (tx) => haltForeign(tx, key, reason, deps.newId())),
    adopt: (lease, decision, found) =>
      underLease(lease, async (tx, token) => {
        const adoption = await adoptExpiring(tx, key, token, decision, found);
        const why = adoption.kind === 'NOT_POSSIBLE' ? adoption.why : undefined;
        await closeDecision(tx, decision.decisionId, why);
        if (why === undefined) await announcePayouts(tx, key, [decision.payout.orderPk], deps);
        return adoption;
      }),
    saveGathering: (lease, gathering, lastEpoch, isAffordable) =>
      underLease(lease, async (tx) => {
        await lockWindows(tx, key);
        const { otherFees } = await readElsewhere(tx, key, deps);
        return isAffordable(otherFees) && saveGathering(tx, key, gathering, lastEpoch);
      }),
    openGatherings: () => readOpenGatherings(db, key),
  };
}
