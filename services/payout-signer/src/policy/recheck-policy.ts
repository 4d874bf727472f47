import type { BlockedPayout, Obstacle, SpentRow, UnsignedPayout } from '../payouts/payout-facts.ts';
import { judge } from './check-intent.ts';
import type { AuthorisationRules } from './policy-port.ts';
import { createSpending } from './spending.ts';

interface Moment {
  readonly now: Date;
  readonly heldSymbols: ReadonlySet<string>;
}

/** A row is no authorisation: a third party may have written it. So the policy is asked again before signing. */
export function recheckPolicy(
  due: readonly UnsignedPayout[],
  spent: readonly SpentRow[],
  rules: AuthorisationRules,
  { now, heldSymbols }: Moment,
): { readonly allowed: readonly UnsignedPayout[]; readonly refused: readonly BlockedPayout[] } {
  const spending = createSpending(spent, false);
  const allowed: UnsignedPayout[] = [];
  const refused: BlockedPayout[] = [];
  for (const payout of due) {
    const obstacle = obstacleTo(payout);
    if (obstacle === undefined) allowed.push(payout);
    else refused.push({ payout, obstacle });
  }
  return { allowed, refused };

  function obstacleTo(payout: UnsignedPayout): Obstacle | undefined {
    if (needsDecision(payout, rules)) return 'NEEDS_DECISION';
    if (heldSymbols.has(payout.symbol)) return 'ASSET_HELD';
    const spentBesides = payout.isSignedBefore ? spending.of(payout) : spending.without(payout);
    const verdict = judge(payout, spentBesides, rules, now);
    if (verdict.kind === 'OBSTACLE') return verdict.obstacle;
    return verdict.kind === 'AUTHORISED' ? undefined : 'POLICY_REFUSES';
  }
}

/** Movements pay own addresses and need no decision. */
export function needsDecision(
  { attempts, isDecidedAgain, movement }: UnsignedPayout,
  { policy }: Pick<AuthorisationRules, 'policy'>,
): boolean {
  const paysThirdParty = movement === null || movement.kind === 'REFUND';
  return paysThirdParty && attempts >= policy.maxAttemptsWithoutDecision && !isDecidedAgain;
}

/** In the commit that signs: `besides` may have grown. Returns payouts that the policy does not permit. */
export function chooseRefused(
  payouts: readonly UnsignedPayout[],
  besides: readonly SpentRow[],
  rules: AuthorisationRules,
  now: Date,
): readonly string[] {
  const spending = createSpending(besides, false);
  return payouts.flatMap((payout) => {
    if (judge(payout, spending.of(payout), rules, now).kind !== 'AUTHORISED') return [payout.orderPk];
    spending.add(payout);
    return [];
  });
}
