import type { Chain } from '@opentill/domain/chains';
import type { JudgedPayout, Obstacle, PayoutFacts } from '../payouts/payout-facts.ts';
import { checkMovement } from './check-movement.ts';
import { configuredContract, type CheckedIntent, type IntentRules } from './intent-rules.ts';
import type { AuthorisationRules, PolicyVerdict, Spent } from './policy-port.ts';

const RECEIVER_NOT_ALLOWED = 'Receiver not allowed';
/** The order names a wallet that is no hot wallet of this keystore, such as a deposit address. */
const WALLET_NOT_ALLOWED = 'Wallet not allowed';

/**
 * Symbol, contract and decimals must match the networks file. The wallet must be a hot wallet that this process
 * derives. The receiver must be no token contract and no own wallet.
 */
export function checkIntent(payout: PayoutFacts, rules: IntentRules): CheckedIntent {
  const { network, codec, ownWallets } = rules;
  const { movement } = payout;
  if (movement !== null && movement.kind !== 'REFUND') return checkMovement({ ...payout, movement }, rules);
  if (!ownWallets.includes(payout.wallet)) return { kind: 'REFUSED', reason: WALLET_NOT_ALLOWED };
  const contract = configuredContract(payout, rules);
  if (contract === undefined) return { kind: 'OBSTACLE', obstacle: 'CONFIG_MISMATCH' };
  const to = codec.parse(payout.receiver);
  const contracts = network.tokens.map((t) => (t.contract === null ? null : codec.parse(t.contract)));
  const isPayable =
    to !== undefined &&
    to === payout.receiver &&
    !codec.isZero(to) &&
    !contracts.includes(to) &&
    !ownWallets.includes(to);
  if (!isPayable || payout.amountBaseUnits <= 0n) return { kind: 'REFUSED', reason: RECEIVER_NOT_ALLOWED };
  return {
    kind: 'INTENT',
    intent: {
      from: payout.wallet,
      contract,
      to,
      amountBaseUnits: payout.amountBaseUnits,
    },
  };
}

function checkRequest(payout: JudgedPayout, rules: IntentRules): CheckedIntent {
  if (payout.paysOwnAddress && (payout.movement === null || payout.movement.kind === 'REFUND'))
    return { kind: 'REFUSED', reason: RECEIVER_NOT_ALLOWED };
  const checked = checkIntent(payout, rules);
  if (checked.kind === 'INTENT' && payout.mayBePaid) return { kind: 'OBSTACLE', obstacle: 'MAYBE_PAID' };
  if (checked.kind === 'INTENT' && !payout.isReserved) return { kind: 'OBSTACLE', obstacle: 'NOT_RESERVED' };
  return checked;
}

/** The policy's verdict, or the obstacle or permanent fault that keeps it from being asked. */
export function judge(
  payout: JudgedPayout,
  spent: Spent,
  rules: AuthorisationRules,
  now: Date,
  waitingSince: Date | null = null,
): PolicyVerdict | { readonly kind: 'OBSTACLE'; readonly obstacle: Obstacle } {
  const checked = checkRequest(payout, rules);
  if (checked.kind !== 'INTENT') return checked;
  const chain: Chain = rules.network.chain;
  return rules.policy.judge({ chain, payout, intent: checked.intent, spent, waitingSince, now });
}
