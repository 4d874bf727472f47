import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import type { TxHash } from '@opentill/chain/transfer';
import type { WalletBounds } from '@opentill/contracts/payout-terms';
import type { Lease } from '@opentill/db/lease';
import type { AuthorisationRules } from '../policy/policy-port.ts';
import type { ObstaclePauses } from '../wallet/obstacle-pauses.ts';
import type { Observe } from '../observe/observe.ts';
import type { RequestPage } from '../wallet/next-page.ts';
import type { WalletKey } from '../payouts/payout-facts.ts';
import type { ReadClocks } from '../policy/compare-clocks.ts';
import type { AttemptStore } from './store/attempt-store.ts';
import type { SendMark } from './send-mark.ts';

export interface ExpiringTiming {
  /** Before the second send; doubles each time. Pools forget after a minute. */
  readonly resendMs: number;
  readonly resendMaxMs: number;
  /** Balance polling interval. `NEVER` for deposit addresses, which are emptied at once. */
  readonly balancesEveryMs: number | 'NEVER';
}

export interface ExpiringPassDeps {
  readonly key: WalletKey;
  readonly terms: WalletBounds & { readonly maxOpenPayouts: number };
  readonly rules: AuthorisationRules;
  readonly store: AttemptStore;
  readonly sender: ExpiringSender;
  readonly mark: SendMark;
  readonly readClocks: ReadClocks;
  readonly monotonicMs: () => number;
  readonly observe: Observe;
  readonly timing: ExpiringTiming;
  readonly onCommitted: () => void;
}

/** State from pass to pass, for as long as the driver holds the lease. Losing it only costs time. */
export interface ExpiringMemory extends RequestPage {
  readonly sends: Map<TxHash, { readonly times: number; readonly atMs: number }>;
  readonly pauses: ObstaclePauses;
  /** Back-off of attempts without proof of death, so that not every pass asks nodes for every block. */
  readonly deathProofPauses: ObstaclePauses;
  balancesAtMs: number;
  gatheredAtMs: number;
}

export interface ExpiringContext extends ExpiringPassDeps {
  readonly lease: Lease;
  readonly memory: ExpiringMemory;
  readonly signal: AbortSignal;
}
