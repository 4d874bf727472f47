import type {
  AuthorisationDecisions,
  Obstacle,
  PayoutsView,
  RequestedPayout,
  SpentRow,
} from '../payouts/payout-facts.ts';
import { judge } from './check-intent.ts';
import type { AuthorisationRules } from './policy-port.ts';
import { createSpending } from './spending.ts';

/**
 * Decides about the payouts that wait to be authorised, oldest first, each counted for the next; also what only waits for
 * approval, as its money is kept for it (readSpent): also once it is approved, until it is authorised, whatever stops the
 * wallet meanwhile. What a policy refuses is refused also while the wallet is halted: it would not become right. But nothing
 * is refused while something unknown may have paid it, or while clocks differ that limits and cooling times go by.
 *
 * @param slots how many may be authorised now
 * @param pausedBy what stops all of the wallet besides a halt
 */
export function decideAuthorisations(
  view: Pick<PayoutsView, 'requested' | 'halted' | 'isUncertain' | 'heldSymbols' | 'now'>,
  spentRows: readonly SpentRow[],
  rules: AuthorisationRules,
  { slots, pausedBy }: { readonly slots: number; readonly pausedBy: Obstacle | undefined },
): AuthorisationDecisions {
  const spent = createSpending(spentRows, true);
  let waitForTurn = 0;
  const decisions = {
    authorised: [],
    needApproval: [],
    judgedAgain: [],
    heldBack: [],
    refused: [],
    obstacles: [],
  } as {
    authorised: string[];
    needApproval: string[];
    judgedAgain: string[];
    heldBack: string[];
    refused: { orderPk: string; reason: string }[];
    obstacles: { orderPk: string; obstacle: Obstacle }[];
  };
  const stop = pausedBy ?? (view.halted !== null ? 'HALTED' : undefined);
  const mayRefuse = pausedBy !== 'CHAIN_AHEAD' && pausedBy !== 'CLOCKS_DIFFER' && !view.isUncertain;
  for (const payout of view.requested) {
    const { orderPk, symbol } = payout;
    // It expires as soon as it is known that nothing unknown has paid it.
    if (payout.isOverdue && payout.waitingSince === null && pausedBy !== 'CHAIN_AHEAD') continue;
    const isWaiting = waitsForApproval(payout);
    if (isWaiting) spent.dropWaiting(payout);
    const waitingSince = isWaiting ? payout.waitingSince : null;
    const verdict = judge(payout, spent.of(payout), rules, view.now, waitingSince);
    if (verdict.kind === 'REFUSED' && mayRefuse) {
      decisions.refused.push({ orderPk, reason: verdict.reason });
      continue;
    }
    if (verdict.kind === 'REFUSED' && isWaiting) {
      // It goes on waiting until it can be refused.
      spent.addWaiting(payout);
      continue;
    }
    const obstacle = verdict.kind === 'OBSTACLE' ? verdict.obstacle : (stop ?? heldBy(view, symbol));
    if (verdict.kind === 'NEEDS_APPROVAL') {
      spent.addWaiting(payout);
      if (!isWaiting) decisions.needApproval.push(orderPk);
      else if (isSpokenOf(payout)) decisions.judgedAgain.push(orderPk);
    } else if (obstacle !== undefined && !(isWaiting && verdict.kind === 'AUTHORISED'))
      decisions.obstacles.push({ orderPk, obstacle });
    else if (obstacle !== undefined || decisions.authorised.length >= slots) {
      if (obstacle === undefined) waitForTurn += 1;
      if (!isWaiting) continue;
      spent.addWaiting(payout);
      if (payout.obstacleAt !== null && (obstacle !== undefined || !isSpokenOf(payout)))
        decisions.heldBack.push(orderPk);
    } else {
      decisions.authorised.push(orderPk);
      spent.add(payout);
    }
  }
  return {
    ...decisions,
    waitForTurn,
    obstacles: decisions.obstacles.filter(({ orderPk, obstacle }) =>
      isNews(of(view, orderPk), obstacle, view.now),
    ),
  };
}

/** As it stands in its row. MAYBE_PAID waits for operators as well, but for another word. */
function waitsForApproval({ waitingSince, obstacle }: RequestedPayout): boolean {
  return waitingSince !== null && obstacle === 'NEEDS_APPROVAL';
}

/** Since it was judged last; also one that needed nothing but its turn then. */
function isSpokenOf({ approvals, obstacleAt }: RequestedPayout): boolean {
  return obstacleAt === null || approvals.some(({ approvedAt }) => approvedAt >= obstacleAt);
}

/** CHAIN_AHEAD keeps a payout from expiring for as long as it is said anew (expire_payouts). */
const AHEAD_SAID_AGAIN_MS = 45_000;

function isNews(payout: RequestedPayout | undefined, obstacle: Obstacle, now: Date): boolean {
  if (payout?.obstacle !== obstacle) return true;
  const saidMs = payout.obstacleAt?.getTime() ?? 0;
  return obstacle === 'CHAIN_AHEAD' && Math.abs(now.getTime() - saidMs) >= AHEAD_SAID_AGAIN_MS;
}

function heldBy(view: Pick<PayoutsView, 'heldSymbols'>, symbol: string): Obstacle | undefined {
  return view.heldSymbols.has(symbol) ? 'ASSET_HELD' : undefined;
}

function of(view: Pick<PayoutsView, 'requested'>, orderPk: string): RequestedPayout | undefined {
  return view.requested.find((payout) => payout.orderPk === orderPk);
}
