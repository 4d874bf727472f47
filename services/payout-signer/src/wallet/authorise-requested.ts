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
import type { PageOutcome } from './turn-page.ts';

/** What payouts are authorised with, whatever a family's transactions are ordered by. */
export interface AuthorisingContext {
  readonly key: WalletKey;
  readonly rules: AuthorisationRules;
  readonly observe: Pick<Observe, 'authorised'>;
  readonly onCommitted: () => void;
}

export interface AuthorisingRound {
  /** How many may be authorised now. */
  readonly slots: number;
  /** What stops all of the wallet besides a halt. */
  readonly pausedBy: Obstacle | undefined;
  readonly spent: () => Promise<readonly SpentRow[]>;
  /** Decides in the commit that writes what is decided. @returns those authorised */
  readonly save: (decide: (spent: readonly SpentRow[]) => Authorisations) => Promise<readonly string[]>;
}

/**
 * Authorises what may be, oldest first, all in one commit; notes why the others wait, and refuses what the policy refuses.
 * @returns WRITTEN: some were; TURNS: some wait for nothing but their turn; NOTHING: neither
 */
export async function authoriseRequested(
  { key, rules, observe, onCommitted }: AuthorisingContext,
  view: Pick<PayoutsView, 'requested' | 'halted' | 'isUncertain' | 'heldSymbols' | 'now'>,
  { slots, pausedBy, spent, save }: AuthorisingRound,
): Promise<PageOutcome> {
  if (view.requested.length === 0) return 'NOTHING';
  const decide = (rows: readonly SpentRow[]): AuthorisationDecisions =>
    decideAuthorisations(view, rows, rules, { slots, pausedBy });
  const isFirstLook = view.requested.some(({ obstacle }) => obstacle === null);
  // What was looked at before mostly goes on waiting: then nothing is to be written, and nobody is to wait for it.
  const before = isFirstLook ? undefined : decide(await spent());
  if (before !== undefined && !hasNews(before)) return before.waitForTurn > 0 ? 'TURNS' : 'NOTHING';

  let decisions = before;
  const done = await save((rows) => (decisions = decide(rows)));
  if (decisions === undefined) return 'NOTHING';
  observe.authorised(key, { ...decisions, authorised: done });
  const { refused, waitForTurn } = decisions;
  if (refused.length > 0) onCommitted();
  if (done.length > 0 || refused.length > 0) return 'WRITTEN';
  return waitForTurn > 0 ? 'TURNS' : 'NOTHING';
}

function hasNews(decisions: AuthorisationDecisions): boolean {
  const { authorised, needApproval, judgedAgain, heldBack, refused, obstacles } = decisions;
  return [authorised, needApproval, judgedAgain, heldBack, refused, obstacles].some(
    (list) => list.length > 0,
  );
}
