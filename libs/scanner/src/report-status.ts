import { isSameLease, type Lease, type LeaseKeeper } from '@opentill/db/lease';
import type { ChainState } from '@opentill/domain/chain-status';
import { GatewayError } from '@opentill/domain/gateway-error';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Scanning } from './scanning.ts';

export interface ReportDeps extends Pick<Scanning, 'network' | 'store' | 'observe'> {
  readonly lease: Pick<LeaseKeeper, 'current'>;
  readonly leaseIntervalMs: number;
}

const MAX_BACKOFF_MS = 5_000;

/**
 * Writes each change of the chain's state, and the state at stop, which may explain why the service ends. A halt stored
 * by an earlier lease holder lasts until a round succeeds.
 */
export function startReporting(deps: ReportDeps): Loop & { wakeIfChanged(): void } {
  const { observe, store, lease, leaseIntervalMs: intervalMs } = deps;
  const { chain } = deps.network;
  let state: ChainState | undefined;
  let reported: { readonly under: Lease; readonly text: string } | undefined;
  const failed = (error: unknown, failuresInRow: number): void =>
    observe.failed(chain, 'status', error, failuresInRow);
  const report = async (): Promise<void> => {
    const held = lease.current();
    if (held === undefined) return;
    try {
      const isOwn = isSameLease(reported?.under, held);
      const stored = isOwn ? undefined : await store.readStatus(chain);
      if (stored?.state === 'HALTED') observe.inheritedHalt(chain, stored.reason ?? 'UNKNOWN');
      const status = observe.status(chain);
      const text = JSON.stringify(status);
      if (isOwn && reported?.text === text) return;
      await store.writeStatus(held, chain, status);
      reported = { under: held, text };
    } catch (error) {
      // The next holder reports.
      if (!(error instanceof GatewayError) || error.code !== 'LEASE_LOST') throw error;
    }
  };
  const loop = startLoop({
    name: `status ${chain}`,
    intervalMs,
    maxBackoffMs: MAX_BACKOFF_MS,
    run: report,
    onError: failed,
  });
  return {
    wake: () => loop.wake(),
    wakeIfChanged() {
      const before = state;
      ({ state } = observe.status(chain));
      if (state !== before) loop.wake();
    },
    async stop() {
      await loop.stop();
      await report().catch((error: unknown) => failed(error, 1));
    },
  };
}
