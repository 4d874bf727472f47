import type { ChainReader } from '@opentill/chain/chain-reader';
import type { SourcesCount, WalletSender } from '@opentill/chain/wallet-sender';
import type { PayoutTerms } from '@opentill/contracts/payout-terms';
import type { Lease } from '@opentill/db/lease';
import type { AuthorisationRules } from '../policy/policy-port.ts';
import type { ObstaclePauses } from '../wallet/obstacle-pauses.ts';
import type { Observe } from '../observe/observe.ts';
import type { WalletKey } from '../payouts/payout-facts.ts';
import type { ReadClocks } from '../policy/compare-clocks.ts';
import type { SendMemory, SendTiming, Suspicions } from './next-sends.ts';
import type { NonceMark } from './nonce-mark.ts';
import type { PayoutStore } from './store/payout-store.ts';
import type { PoolClaims } from './pool-claims.ts';
import type { Vouches } from './store/nonce-facts.ts';

export interface PassTiming extends SendTiming {
  /** A free nonce below signed ones waits so long for a payout before a transaction that moves nothing fills it. */
  readonly cancelGapAfterMs: number;
  /** Pause between looks at the wallet's balances; never where nobody keeps anything for long. */
  readonly balancesEveryMs: number | 'NEVER';
  /** Pause between looks at the chain's count of transactions while nothing is on its way. */
  readonly idleCountEveryMs: number;
  /** A count that is no older is good enough for another pass. */
  readonly countEveryMs: number;
  /** A chain that is ahead for so long halts the wallet. */
  readonly aheadHaltAfterMs: number;
  /** The pool of one source alone, which another one contradicts, stops signing for so long in all before its claims are used up. */
  readonly poolBelievedMs: number;
}

/** What one driver works with. */
export interface PassDeps {
  readonly key: WalletKey;
  readonly terms: Pick<PayoutTerms, 'maxOpenNonces' | 'lowGasBaseUnits' | 'lowBalance' | 'float'>;
  readonly rules: AuthorisationRules;
  readonly store: PayoutStore;
  readonly sender: WalletSender;
  readonly reader: Pick<ChainReader, 'readFates'>;
  readonly mark: NonceMark;
  readonly readClocks: ReadClocks;
  /** Milliseconds of a clock that only goes forward. What this process remembers of times is by it, and by no other. */
  readonly monotonicMs: () => number;
  readonly observe: Observe;
  readonly timing: PassTiming;
  /** After a commit that appended events. */
  readonly onCommitted: () => void;
}

/** What a driver remembers from pass to pass, for as long as it has the lease. Losing it costs time and nothing else. */
export interface PassMemory {
  readonly sends: SendMemory;
  readonly vouches: Vouches;
  readonly pauses: ObstaclePauses;
  /** The payout behind which requested ones are looked for, while those before it wait for something. */
  requestedAfter: string | undefined;
  readonly suspicions: Suspicions;
  readonly gapsSinceMs: Map<number, number>;
  /** Whether the first round over everything that waits is still under way: the policy may be another one than before. */
  isFirstRound: boolean;
  balancesAtMs: number;
  counts: ChainCounts | undefined;
  readonly poolClaims: PoolClaims;
  /** Since when the chain has been ahead, and how often that was seen. */
  ahead: { readonly sinceMs: number; readonly looks: number } | undefined;
}

/** How many transactions of the wallet the chain has, by this moment of the process. */
export interface ChainCounts {
  readonly atMs: number;
  readonly latest: number;
  readonly pending: SourcesCount;
}

/** One pass under one lease. */
export interface PassContext extends PassDeps {
  readonly lease: Lease;
  readonly memory: PassMemory;
  readonly signal: AbortSignal;
}
