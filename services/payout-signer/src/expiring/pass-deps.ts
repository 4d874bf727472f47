import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import type { TxHash } from '@opentill/chain/transfer';
import type { WalletBounds } from '@opentill/contracts/payout-terms';
import type { Lease } from '@opentill/db/lease';
import type { AuthorisationRules } from '../policy/policy-port.ts';
import type { ObstaclePauses } from '../wallet/obstacle-pauses.ts';
import type { Observe } from '../observe/observe.ts';
import type { RequestPage } from '../wallet/turn-page.ts';
import type { WalletKey } from '../payouts/payout-facts.ts';
import type { ReadClocks } from '../policy/compare-clocks.ts';
import type { AttemptStore } from './store/attempt-store.ts';
import type { SendMark } from './send-mark.ts';

export interface ExpiringTiming {
  /** Pause before stored bytes are sent a second time; doubles with each time. Pools forget after a minute, and tell nobody. */
  readonly resendMs: number;
  readonly resendMaxMs: number;
  /** Pause between looks at the wallet's balances. */
  readonly balancesEveryMs: number | 'NEVER';
}

/** What one driver works with. */
export interface ExpiringPassDeps {
  readonly key: WalletKey;
  readonly terms: WalletBounds & { readonly maxOpenPayouts: number };
  readonly rules: AuthorisationRules;
  readonly store: AttemptStore;
  readonly sender: ExpiringSender;
  readonly mark: SendMark;
  readonly readClocks: ReadClocks;
  /** See PassDeps. */
  readonly monotonicMs: () => number;
  readonly observe: Observe;
  readonly timing: ExpiringTiming;
  /** After a commit that appended events. */
  readonly onCommitted: () => void;
}

/** What a driver remembers from pass to pass, for as long as it has the lease. Losing it costs time and nothing else. */
export interface ExpiringMemory extends RequestPage {
  /** How often this process sent each, and when last. */
  readonly sends: Map<TxHash, { readonly times: number; readonly atMs: number }>;
  readonly pauses: ObstaclePauses;
  /** Of attempts that could not be proven dead: nodes are not asked for every block with every pass. */
  readonly burials: ObstaclePauses;
  balancesAtMs: number;
  /** When scattered money was looked for. */
  gatheredAtMs: number;
}

/** One pass under one lease. */
export interface ExpiringContext extends ExpiringPassDeps {
  readonly lease: Lease;
  readonly memory: ExpiringMemory;
  readonly signal: AbortSignal;
}
