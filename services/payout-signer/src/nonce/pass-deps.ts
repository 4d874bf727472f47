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
import type { Verifications } from './store/nonce-facts.ts';

export interface PassTiming extends SendTiming {
  /** A free nonce below signed ones waits this long for a payout. Then a transaction that moves no money fills it. */
  readonly cancelGapAfterMs: number;
  /** Balance polling interval. `NEVER` for deposit addresses, which are emptied at once. */
  readonly balancesEveryMs: number | 'NEVER';
  readonly idleCountEveryMs: number;
  readonly countEveryMs: number;
  readonly aheadHaltAfterMs: number;
  /** Total time for which a single source's contradicted pool pauses signing. Then its claimed nonces are used up. */
  readonly poolBelievedMs: number;
}

export interface PassDeps {
  readonly key: WalletKey;
  readonly terms: Pick<PayoutTerms, 'maxOpenNonces' | 'lowGasBaseUnits' | 'lowBalance' | 'float'>;
  readonly rules: AuthorisationRules;
  readonly store: PayoutStore;
  readonly sender: WalletSender;
  readonly reader: Pick<ChainReader, 'readFates'>;
  readonly mark: NonceMark;
  readonly readClocks: ReadClocks;
  /** By a monotonic clock, like all times that this process remembers. */
  readonly monotonicMs: () => number;
  readonly observe: Observe;
  readonly timing: PassTiming;
  readonly onCommitted: () => void;
}

/** State from pass to pass, for as long as the driver holds the lease. Losing it only costs time. */
export interface PassMemory {
  readonly sends: SendMemory;
  readonly verifications: Verifications;
  readonly pauses: ObstaclePauses;
  /** Requested payouts are read from behind this one, while those before it wait. */
  requestedAfter: string | undefined;
  readonly suspicions: Suspicions;
  readonly gapsSinceMs: Map<number, number>;
  /** First round over all waiting payouts: the policy may have changed since the last process. */
  isFirstRound: boolean;
  balancesAtMs: number;
  counts: ChainCounts | undefined;
  readonly poolClaims: PoolClaims;
  ahead: { readonly sinceMs: number; readonly checks: number } | undefined;
}

export interface ChainCounts {
  readonly atMs: number;
  readonly latest: number;
  readonly pending: SourcesCount;
}

export interface PassContext extends PassDeps {
  readonly lease: Lease;
  readonly memory: PassMemory;
  readonly signal: AbortSignal;
}
