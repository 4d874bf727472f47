import type { Address } from '@opentill/chain/address-codec';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { Chain } from '@opentill/domain/chains';
import type { ChainPolicy, SweepPolicy } from '@opentill/wallet/policy/policy';
import type { JudgedPayout } from '../payouts/payout-facts.ts';

import type { IntentRules } from './intent-rules.ts';

/**
 * What is authorised, or was signed lately, of one symbol on the chain, base units; of everybody, and of the payout's merchant.
 * Where payouts are let in, the days count what waits for approval as well.
 */
export interface Spent {
  readonly lastHour: bigint;
  readonly lastDay: bigint;
  readonly merchantLastDay: bigint;
}

export type PolicyVerdict =
  | { readonly kind: 'AUTHORISED' }
  /** Short, printable ASCII without `/`: the merchant is told. */
  | { readonly kind: 'REFUSED'; readonly reason: string }
  | { readonly kind: 'NEEDS_APPROVAL' }
  | { readonly kind: 'OBSTACLE'; readonly obstacle: 'NO_POLICY' };

/** What a policy says of a chain where deposit addresses are emptied. */
export type SweepBounds = ChainPolicy & { readonly sweep: SweepPolicy; readonly coldAddress: Address };

/** The sealed policy as the signer asks it. Pure: the same question has the same answer. */
export interface PolicyJudge {
  judge(question: {
    readonly chain: Chain;
    readonly payout: JudgedPayout;
    readonly intent: PaymentIntent;
    readonly spent: Spent;
    /** Since when it has been waiting for approval; null while it does not. */
    readonly waitingSince: Date | null;
    readonly now: Date;
  }): PolicyVerdict;
  /** Where received money is kept; undefined where the policy names none. */
  coldAddressOf(chain: Chain): Address | undefined;
  /** The bounds of this chain's sweeps; undefined where nothing is swept: no policy, or it is disabled, or says nothing of it. */
  sweepsOf(chain: Chain): SweepBounds | undefined;
  /** Whether anything may be signed on this chain at all; a fee bump asks only this. */
  allowsChain(chain: Chain): boolean;
  /** Public keys of those who may approve, 64 lower-case hex digits: what others say of a payout is not read. */
  readonly approvers: readonly string[];
  /** How long a payout waits for approval before it is refused. */
  readonly approvalWaitMs: number;
  /** See Policy. */
  readonly maxAttemptsWithoutDecision: number;
  /** How much of a symbol a hot wallet should hold at most, base units; undefined where the policy says nothing. */
  floatOf(chain: Chain, symbol: string): bigint | undefined;
}

export interface AuthorisationRules extends IntentRules {
  readonly policy: PolicyJudge;
}
