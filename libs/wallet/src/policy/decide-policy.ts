import type { Address } from '@opentill/chain/address-codec';
import { familyOf } from '@opentill/domain/chains';
import { approvalText, verifyApproval, type StoredApproval } from './approval.ts';
import type { PolicyCounters } from './count-authorised.ts';
import { canonicalContract, type AssetPolicy, type Policy, type PolicyPayout } from './policy.ts';

/** Final. Merchants see these words. */
export type PolicyRefusal =
  | 'Chain not allowed'
  | 'Chain disabled'
  /** Also when contract or decimals differ from those that the policy was written for. */
  | 'Asset not allowed'
  | 'Amount not allowed'
  | 'Address denied'
  | 'Address not allowed'
  | 'Address is cooling'
  | 'Limit per payout exceeded'
  | 'Limit per hour exceeded'
  | 'Limit per day exceeded'
  | 'Limit per merchant and day exceeded'
  | 'Approval missing';

export type PolicyDecision =
  | { readonly kind: 'AUTHORISED' }
  | { readonly kind: 'REFUSED'; readonly reason: PolicyRefusal }
  | { readonly kind: 'NEEDS_APPROVAL'; readonly required: number; readonly given: number };

export interface PolicyQuestion {
  readonly policy: Policy;
  readonly payout: PolicyPayout;
  /** Without this payout: see `countAuthorised`. */
  readonly counters: PolicyCounters;
  readonly waitingSince: Date | null;
  /** Unverified: signatures are verified here. */
  readonly approvals: readonly StoredApproval[];
  readonly isApprovalNeeded?: boolean;
  readonly now: Date;
}

/** Pure. Refuses everything that the policy does not name. */
export function decidePolicy(question: PolicyQuestion): PolicyDecision {
  const { policy, payout, counters, approvals, waitingSince, now } = question;
  const asset = policy.chains.get(payout.chain)?.assets.get(payout.symbol);
  const reason =
    refuseAsset(policy, payout, asset) ??
    refuseReceiver(policy, payout, now) ??
    (asset === undefined ? 'Asset not allowed' : refuseAmount(asset, payout.amountBaseUnits, counters));
  if (reason !== undefined) return { kind: 'REFUSED', reason };
  const above = question.isApprovalNeeded === true ? 0n : asset?.approvalAboveBaseUnits;
  if (above === undefined || payout.amountBaseUnits <= above) return { kind: 'AUTHORISED' };
  const required = policy.approvalsRequired;
  const given = countApprovers(policy, payout, approvals);
  if (given >= required) return { kind: 'AUTHORISED' };
  const waitedMs = waitingSince === null ? 0 : now.getTime() - waitingSince.getTime();
  // `<` and not `>=`: with an invalid date the payout is refused and does not wait permanently.
  return waitedMs < policy.approvalWaitMs
    ? { kind: 'NEEDS_APPROVAL', required, given }
    : { kind: 'REFUSED', reason: 'Approval missing' };
}

function refuseAsset(
  { chains }: Policy,
  payout: PolicyPayout,
  asset: AssetPolicy | undefined,
): PolicyRefusal | undefined {
  const chain = chains.get(payout.chain);
  if (chain === undefined) return 'Chain not allowed';
  if (!chain.enabled) return 'Chain disabled';
  const contract = canonicalContract(payout.chain, payout.contract);
  if (asset === undefined || asset.contract !== contract || asset.decimals !== payout.decimals)
    return 'Asset not allowed';
  return payout.amountBaseUnits > 0n ? undefined : 'Amount not allowed';
}

function refuseReceiver(policy: Policy, payout: PolicyPayout, now: Date): PolicyRefusal | undefined {
  const family = familyOf(payout.chain);
  const receiver: Address = payout.receiver;
  if (policy.deny.get(family)?.has(receiver) === true) return 'Address denied';
  const allowed = policy.allow.get(family);
  if (allowed === undefined) return undefined;
  const entry = allowed.get(receiver);
  if (entry === undefined) return 'Address not allowed';
  // `>=` is false for an invalid date, so the address never counts as cooled.
  const isCooled = now.getTime() >= entry.since.getTime() + policy.coolingMs;
  return isCooled ? undefined : 'Address is cooling';
}

function refuseAmount(
  asset: AssetPolicy,
  amount: bigint,
  { hour, day, merchantDay }: PolicyCounters,
): PolicyRefusal | undefined {
  if (amount > asset.maxPerPayoutBaseUnits) return 'Limit per payout exceeded';
  if (hour + amount > asset.maxPerHourBaseUnits) return 'Limit per hour exceeded';
  if (day + amount > asset.maxPerDayBaseUnits) return 'Limit per day exceeded';
  if (merchantDay + amount > asset.maxPerMerchantPerDayBaseUnits)
    return 'Limit per merchant and day exceeded';
  return undefined;
}

function countApprovers(
  { approvers }: Policy,
  payout: PolicyPayout,
  approvals: readonly StoredApproval[],
): number {
  const text = approvalText(payout);
  return approvers.filter(({ publicKey }) =>
    approvals.some(
      ({ approver, signature }) => approver === publicKey && verifyApproval(publicKey, text, signature),
    ),
  ).length;
}
