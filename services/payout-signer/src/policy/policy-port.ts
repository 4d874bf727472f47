import type { Address } from '@opentill/chain/address-codec';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { Chain } from '@opentill/domain/chains';
import type { ChainPolicy, SweepPolicy } from '@opentill/wallet/policy/policy';
import type { JudgedPayout } from '../payouts/payout-facts.ts';

import type { IntentRules } from './intent-rules.ts';

/** Base units of one symbol on the chain. At authorisation the days include what waits for approval. */
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

export type SweepBounds = ChainPolicy & { readonly sweep: SweepPolicy; readonly coldAddress: Address };

/** Pure: equal questions have equal answers. */
export interface PolicyJudge {
  judge(question: {
    readonly chain: Chain;
    readonly payout: JudgedPayout;
    readonly intent: PaymentIntent;
    readonly spent: Spent;
    readonly waitingSince: Date | null;
    readonly now: Date;
  }): PolicyVerdict;
  coldAddressOf(chain: Chain): Address | undefined;
  /** undefined without a policy, if it is disabled, or if it has no sweeps for the chain. */
  sweepsOf(chain: Chain): SweepBounds | undefined;
  allowsChain(chain: Chain): boolean;
  /** 64 lower-case hex digits. Other approvals are not read. */
  readonly approvers: readonly string[];
  readonly approvalWaitMs: number;
  readonly maxAttemptsWithoutDecision: number;
  floatOf(chain: Chain, symbol: string): bigint | undefined;
}

export interface AuthorisationRules extends IntentRules {
  readonly policy: PolicyJudge;
}
