import type { NetworkKind } from '@opentill/domain/chains';
import { decidePolicy } from '@opentill/wallet/policy/decide-policy';
import { judgeMovement } from './judge-movement.ts';
import { APPROVAL_WAIT_HOURS, MAX_ATTEMPTS_WITHOUT_DECISION } from '@opentill/wallet/policy/parse-policy';
import type { Policy } from '@opentill/wallet/policy/policy';
import type { PolicyJudge } from './policy-port.ts';

const REFUND_WITHOUT_APPROVERS = 'Refund needs approvers';

/** Without a policy no payout is authorised, except on test networks in the local profile. */
export function judgeByPolicy(
  policy: Policy | undefined,
  kind: NetworkKind,
  { isLocal = false } = {},
): PolicyJudge {
  const signsWithout = isLocal && kind === 'test';
  return {
    judge({ chain, payout, intent, spent, waitingSince, now }) {
      if (policy === undefined)
        return signsWithout ? { kind: 'AUTHORISED' } : { kind: 'OBSTACLE', obstacle: 'NO_POLICY' };
      const { symbol, decimals, merchantId, orderPk, wallet, movement } = payout;
      if (movement !== null && movement.kind !== 'REFUND')
        return judgeMovement(policy, chain, movement.kind, payout.amountBaseUnits, spent.lastDay);
      const isRefund = movement !== null;
      if (isRefund && policy.approvers.length === 0 && kind === 'main')
        return { kind: 'REFUSED', reason: REFUND_WITHOUT_APPROVERS };
      const decision = decidePolicy({
        policy,
        payout: {
          chain,
          wallet,
          contract: intent.contract,
          symbol,
          decimals,
          amountBaseUnits: intent.amountBaseUnits,
          receiver: intent.to,
          merchantId,
          orderPk,
        },
        counters: { hour: spent.lastHour, day: spent.lastDay, merchantDay: spent.merchantLastDay },
        approvals: payout.approvals,
        waitingSince,
        now,
        // An operator names the receiver of a refund, so approvers sign it for any amount.
        ...(isRefund && policy.approvers.length > 0 && { isApprovalNeeded: true }),
      });
      return decision.kind === 'REFUSED' ? { kind: 'REFUSED', reason: decision.reason } : decision;
    },
    sweepsOf(chain) {
      const rules = policy?.chains.get(chain);
      if (rules?.enabled !== true || rules.sweep === undefined || rules.coldAddress === undefined)
        return undefined;
      return { ...rules, sweep: rules.sweep, coldAddress: rules.coldAddress };
    },
    coldAddressOf: (chain) => policy?.chains.get(chain)?.coldAddress,
    allowsChain: (chain) =>
      policy === undefined ? signsWithout : policy.chains.get(chain)?.enabled === true,
    approvers: policy?.approvers.map(({ publicKey }) => publicKey) ?? [],
    approvalWaitMs: policy?.approvalWaitMs ?? APPROVAL_WAIT_HOURS * 3_600_000,
    maxAttemptsWithoutDecision: policy?.maxAttemptsWithoutDecision ?? MAX_ATTEMPTS_WITHOUT_DECISION,
    floatOf: (chain, symbol) => policy?.chains.get(chain)?.assets.get(symbol)?.floatBaseUnits,
  };
}
