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
 * Oldest first; each payout counts for the next. One that waits for approval keeps its place in the windows
 * (readSpent). The policy's refusals apply even to a halted wallet. But no payout is refused while an unknown
 * transaction may have paid it, or while clocks differ.
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
    stillNeedApproval: [],
    heldBack: [],
    refused: [],
    obstacles: [],
  } as {
    authorised: string[];
    needApproval: string[];
    stillNeedApproval: string[];
    heldBack: string[];
    refused: { orderPk: string; reason: string }[];
    obstacles: { orderPk: string; obstacle: Obstacle }[];
  };
  const stop = pausedBy ?? (view.halted !== null ? 'HALTED' : undefined);
  const mayRefuse = pausedBy !== 'CHAIN_AHEAD' && pausedBy !== 'CLOCKS_DIFFER' && !view.isUncertain;
  for (const payout of view.requested) {
    const { orderPk, symbol } = payout;
    // It expires once it is clear that no unknown transaction paid it.
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
      spent.addWaiting(payout);
      continue;
    }
    const obstacle = verdict.kind === 'OBSTACLE' ? verdict.obstacle : (stop ?? heldBy(view, symbol));
    if (verdict.kind === 'NEEDS_APPROVAL') {
      spent.addWaiting(payout);
      if (!isWaiting) decisions.needApproval.push(orderPk);
      else if (hasNewApproval(payout)) decisions.stillNeedApproval.push(orderPk);
    } else if (obstacle !== undefined && !(isWaiting && verdict.kind === 'AUTHORISED'))
      decisions.obstacles.push({ orderPk, obstacle });
    else if (obstacle !== undefined || decisions.authorised.length >= slots) {
      if (obstacle === undefined) waitForTurn += 1;
      if (!isWaiting) continue;
      spent.addWaiting(payout);
      if (payout.obstacleAt !== null && (obstacle !== undefined || !hasNewApproval(payout)))
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
      needsWrite(of(view, orderPk), obstacle, view.now),
    ),
  };
}

function waitsForApproval({ waitingSince, obstacle }: RequestedPayout): boolean {
  return waitingSince !== null && obstacle === 'NEEDS_APPROVAL';
}

/** An approval arrived since the last decision, or the payout then only waited for a free slot. */
function hasNewApproval({ approvals, obstacleAt }: RequestedPayout): boolean {
  return obstacleAt === null || approvals.some(({ approvedAt }) => approvedAt >= obstacleAt);
}

/** CHAIN_AHEAD keeps a payout from expiring only while it is written again (expire_payouts). */
const AHEAD_REPEAT_MS = 45_000;

function needsWrite(payout: RequestedPayout | undefined, obstacle: Obstacle, now: Date): boolean {
  if (payout?.obstacle !== obstacle) return true;
  const writtenMs = payout.obstacleAt?.getTime() ?? 0;
  return obstacle === 'CHAIN_AHEAD' && Math.abs(now.getTime() - writtenMs) >= AHEAD_REPEAT_MS;
}

function heldBy(view: Pick<PayoutsView, 'heldSymbols'>, symbol: string): Obstacle | undefined {
  return view.heldSymbols.has(symbol) ? 'ASSET_HELD' : undefined;
}

function of(view: Pick<PayoutsView, 'requested'>, orderPk: string): RequestedPayout | undefined {
  return view.requested.find((payout) => payout.orderPk === orderPk);
}
