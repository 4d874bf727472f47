import type { Chain } from '@opentill/domain/chains';
import { checkRequest, type IntentRules } from './check-intent.ts';
import type { SpentRow } from './payout-store.ts';
import type { PolicyJudge, PolicyVerdict, Spent } from './policy-port.ts';
import type { Obstacle, RequestedPayout, WalletView } from './wallet-facts.ts';

export interface AuthorisationRules extends IntentRules {
  readonly policy: PolicyJudge;
}

/** What is to become of the payouts that wait to be authorised. A payout is in one of the lists, or nothing of it changes. */
export interface AuthorisationDecisions {
  /** Oldest first. */
  readonly authorised: readonly string[];
  readonly needApproval: readonly string[];
  readonly refused: readonly { readonly orderPk: string; readonly reason: string }[];
  readonly obstacles: readonly { readonly orderPk: string; readonly obstacle: Obstacle }[];
  /** How many wait for nothing but their turn. Nothing is noted of them. */
  readonly waitForTurn: number;
}

/**
 * Decides about the payouts that wait to be authorised, oldest first, each counted for the next. What a policy refuses is
 * refused also while the wallet is halted: it would not become right.
 *
 * @param slots how many may be authorised now
 * @param pausedBy what stops all of the wallet besides a halt
 */
export function decideAuthorisations(
  view: Pick<WalletView, 'requested' | 'halted' | 'heldSymbols' | 'now'>,
  spentRows: readonly SpentRow[],
  rules: AuthorisationRules,
  { slots, pausedBy }: { readonly slots: number; readonly pausedBy: Obstacle | undefined },
): AuthorisationDecisions {
  const spent = createSpending(spentRows);
  let waitForTurn = 0;
  const decisions = { authorised: [], needApproval: [], refused: [], obstacles: [] } as {
    authorised: string[];
    needApproval: string[];
    refused: { orderPk: string; reason: string }[];
    obstacles: { orderPk: string; obstacle: Obstacle }[];
  };
  for (const payout of view.requested) {
    const { orderPk, symbol, amountBaseUnits } = payout;
    const verdict = judge(payout, spent.of(payout), rules, view.now);
    if (verdict.kind === 'REFUSED') {
      decisions.refused.push({ orderPk, reason: verdict.reason });
      continue;
    }
    const obstacle =
      verdict.kind === 'OBSTACLE'
        ? verdict.obstacle
        : (pausedBy ?? (view.halted !== null ? 'HALTED' : undefined) ?? heldBy(view, symbol));
    if (verdict.kind === 'NEEDS_APPROVAL') decisions.needApproval.push(orderPk);
    else if (obstacle !== undefined) decisions.obstacles.push({ orderPk, obstacle });
    else if (decisions.authorised.length >= slots) waitForTurn += 1;
    else {
      decisions.authorised.push(orderPk);
      spent.add(payout, amountBaseUnits);
    }
  }
  return {
    ...decisions,
    waitForTurn,
    needApproval: decisions.needApproval.filter((pk) => of(view, pk)?.waitingSince === null),
    obstacles: decisions.obstacles.filter(
      ({ orderPk, obstacle }) => of(view, orderPk)?.obstacle !== obstacle,
    ),
  };
}

function judge(
  payout: RequestedPayout,
  spent: Spent,
  rules: AuthorisationRules,
  now: Date,
): PolicyVerdict | { readonly kind: 'OBSTACLE'; readonly obstacle: Obstacle } {
  const checked = checkRequest(payout, rules);
  if (checked.kind !== 'INTENT') return checked;
  const chain: Chain = rules.network.chain;
  return rules.policy.judge({ chain, payout, intent: checked.intent, spent, now });
}

function heldBy(view: Pick<WalletView, 'heldSymbols'>, symbol: string): Obstacle | undefined {
  return view.heldSymbols.has(symbol) ? 'ASSET_HELD' : undefined;
}

function of(view: Pick<WalletView, 'requested'>, orderPk: string): RequestedPayout | undefined {
  return view.requested.find((payout) => payout.orderPk === orderPk);
}

/** The sums of the database, and what is added to them in this pass. */
function createSpending(rows: readonly SpentRow[]) {
  const hour = new Map<string, bigint>();
  const day = new Map<string, bigint>();
  const plus = (sums: Map<string, bigint>, key: string, amount: bigint) =>
    void sums.set(key, (sums.get(key) ?? 0n) + amount);
  const merchantKey = (symbol: string, merchantId: string) => `${symbol} of ${merchantId}`;
  const add = (symbol: string, merchantId: string, lastHour: bigint, lastDay: bigint) => {
    plus(hour, symbol, lastHour);
    plus(day, symbol, lastDay);
    plus(day, merchantKey(symbol, merchantId), lastDay);
  };
  for (const row of rows) add(row.symbol, row.merchantId, row.lastHour, row.lastDay);
  return {
    of: ({ symbol, merchantId }: RequestedPayout): Spent => ({
      lastHour: hour.get(symbol) ?? 0n,
      lastDay: day.get(symbol) ?? 0n,
      merchantLastDay: day.get(merchantKey(symbol, merchantId)) ?? 0n,
    }),
    add: ({ symbol, merchantId }: RequestedPayout, amount: bigint) => add(symbol, merchantId, amount, amount),
  };
}
