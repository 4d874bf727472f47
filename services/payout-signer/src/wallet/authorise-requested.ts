import type {
  AuthorisationDecisions,
  Authorisations,
  Obstacle,
  PayoutsView,
  SpentRow,
  WalletKey,
} from '../payouts/payout-facts.ts';
import { decideAuthorisations } from '../policy/decide-authorisations.ts';
import type { AuthorisationRules } from '../policy/policy-port.ts';
import type { Observe } from '../observe/observe.ts';
import type { PageOutcome } from './next-page.ts';

export interface AuthorisingContext {
  readonly key: WalletKey;
  readonly rules: AuthorisationRules;
  readonly observe: Pick<Observe, 'authorised'>;
  readonly onCommitted: () => void;
}

export interface AuthorisingRound {
  readonly slots: number;
  readonly pausedBy: Obstacle | undefined;
  readonly spent: () => Promise<readonly SpentRow[]>;
  /** Calls `decide` in the commit that writes its decisions. Returns those authorised. */
  readonly save: (decide: (spent: readonly SpentRow[]) => Authorisations) => Promise<readonly string[]>;
}

export async function authoriseRequested(
  { key, rules, observe, onCommitted }: AuthorisingContext,
  view: Pick<PayoutsView, 'requested' | 'halted' | 'isUncertain' | 'heldSymbols' | 'now'>,
  { slots, pausedBy, spent, save }: AuthorisingRound,
): Promise<PageOutcome> {
  if (view.requested.length === 0) return 'NOTHING';
  const decide = (rows: readonly SpentRow[]): AuthorisationDecisions =>
    decideAuthorisations(view, rows, rules, { slots, pausedBy });
  const hasNewPayouts = view.requested.some(({ obstacle }) => obstacle === null);
  // Known payouts mostly keep waiting. Then there is no write, and no other wallet waits for the lock.
  const before = hasNewPayouts ? undefined : decide(await spent());
  if (before !== undefined && !hasChanges(before)) return before.waitForTurn > 0 ? 'TURNS' : 'NOTHING';

  let decisions = before;
  const done = await save((rows) => (decisions = decide(rows)));
  if (decisions === undefined) return 'NOTHING';
  observe.authorised(key, { ...decisions, authorised: done });
  const { refused, waitForTurn } = decisions;
  if (refused.length > 0) onCommitted();
  if (done.length > 0 || refused.length > 0) return 'WRITTEN';
  return waitForTurn > 0 ? 'TURNS' : 'NOTHING';
}

function hasChanges(decisions: AuthorisationDecisions): boolean {
  const { authorised, needApproval, stillNeedApproval, heldBack, refused, obstacles } = decisions;
  return [authorised, needApproval, stillNeedApproval, heldBack, refused, obstacles].some(
    (list) => list.length > 0,
  );
}
