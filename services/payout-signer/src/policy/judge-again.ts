import type { Hindered, Obstacle, SpentRow, UnsignedPayout } from '../payouts/payout-facts.ts';
import { judge } from './check-intent.ts';
import type { AuthorisationRules } from './policy-port.ts';
import { createSpending } from './spending.ts';

/** What is known at the moment of signing. */
interface Moment {
  readonly now: Date;
  readonly heldSymbols: ReadonlySet<string>;
}

/**
 * Asks the policy once more, with what is authorised besides: what stands in a row is nobody's authorisation, and may have
 * got there otherwise.
 */
export function judgeAgain(
  due: readonly UnsignedPayout[],
  spent: readonly SpentRow[],
  rules: AuthorisationRules,
  { now, heldSymbols }: Moment,
): { readonly allowed: readonly UnsignedPayout[]; readonly refused: readonly Hindered[] } {
  const spending = createSpending(spent, false);
  const allowed: UnsignedPayout[] = [];
  const refused: Hindered[] = [];
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

/**
 * Whether an operator has to look before the payout is signed again: so often its attempts were said to be dead. The gateway's own
 * movements go to addresses of the gateway, and need no look.
 */
export function needsDecision(
  { attempts, isDecidedAgain, movement }: UnsignedPayout,
  { policy }: Pick<AuthorisationRules, 'policy'>,
): boolean {
  const paysStrangers = movement === null || movement.kind === 'REFUND';
  return paysStrangers && attempts >= policy.maxAttemptsWithoutDecision && !isDecidedAgain;
}

/** The last word of the policy, with what counts besides these, each counted for the next: it may be more than it was a moment ago. */
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
