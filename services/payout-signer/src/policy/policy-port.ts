import type { Address } from '@opentill/chain/address-codec';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { Chain } from '@opentill/domain/chains';
import type { ChainPolicy, SweepPolicy } from '@opentill/wallet/policy/policy';
import type { JudgedPayout } from '../payouts/payout-facts.ts';

import type { IntentRules } from './intent-rules.ts';

/**
 * Amounts of one symbol on the chain that count against limits, in base units: of all merchants, and of the payout's
 * merchant. At authorisation the days include what waits for approval.
 */
export interface Spent {
  readonly lastHour: bigint;
  readonly lastDay: bigint;
  readonly merchantLastDay: bigint;
}

export type PolicyVerdict =
  | { readonly kind: 'AUTHORISED' }
  /** Short, printable ASCII without `/`; shown to the merchant. */
  | { readonly kind: 'REFUSED'; readonly reason: string }
  | { readonly kind: 'NEEDS_APPROVAL' }
  | { readonly kind: 'OBSTACLE'; readonly obstacle: 'NO_POLICY' };

/** Policy of a chain whose deposit addresses are swept. */
export type SweepBounds = ChainPolicy & { readonly sweep: SweepPolicy; readonly coldAddress: Address };

/** The sealed policy. Pure: equal questions have equal answers. */
export interface PolicyJudge {
  judge(question: {
    readonly chain: Chain;
    readonly payout: JudgedPayout;
    readonly intent: PaymentIntent;
    readonly spent: Spent;
    /** Start of the wait for approval; null while it does not wait. */
    readonly waitingSince: Date | null;
    readonly now: Date;
  }): PolicyVerdict;
  /** Where swept money is kept; undefined if the policy names no address. */
  coldAddressOf(chain: Chain): Address | undefined;
  /** Bounds of this chain's sweeps; undefined without a policy, if it is disabled, or if it has none for the chain. */
  sweepsOf(chain: Chain): SweepBounds | undefined;
  /** True if the policy permits signatures on this chain. A fee bump asks only this. */
  allowsChain(chain: Chain): boolean;
  /** Public keys of approvers, 64 lower-case hex digits. Other approvals are not read. */
  readonly approvers: readonly string[];
  /** Time after which a payout without approval is refused. */
  readonly approvalWaitMs: number;
  readonly maxAttemptsWithoutDecision: number;
  /** Balance of a symbol that a hot wallet should hold at most, base units; undefined if the policy has none. */
  floatOf(chain: Chain, symbol: string): bigint | undefined;
}

export interface AuthorisationRules extends IntentRules {
  readonly policy: PolicyJudge;
}
