import type { Lease, LeaseKeeper } from '@opentill/db/lease';
import type { ChainState } from '@opentill/domain/chain-status';
import { GatewayError } from '@opentill/domain/gateway-error';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Scanning } from './scanning.ts';

interface ReportDeps extends Pick<Scanning, 'network' | 'store' | 'observe'> {
  readonly lease: Pick<LeaseKeeper, 'current'>;
  readonly leaseIntervalMs: number;
}

const MAX_BACKOFF_MS = 5_000;

/** Reports the state of the chain when it changes, and once more when it stops: the last state may be why the service ends. */
export function startReporting(deps: ReportDeps): Loop & { wakeIfChanged(): void } {
  const { network, observe } = deps;
  const report = createStatusReport(deps);
  let state: ChainState | undefined;
  const failed = (error: unknown, failuresInRow: number): void =>
    observe.failed(network.chain, 'status', error, failuresInRow);
  const loop = startLoop({
    name: `status ${network.chain}`,
    intervalMs: deps.leaseIntervalMs,
    maxBackoffMs: MAX_BACKOFF_MS,
    run: report,
    onError: failed,
  });
  return {
    wake: () => loop.wake(),
    wakeIfChanged() {
      const before = state;
      ({ state } = observe.status(network.chain));
      if (state !== before) loop.wake();
    },
    async stop() {
      await loop.stop();
      await report().catch((error: unknown) => failed(error, 1));
    },
  };
}

/**
 * Makes the function that writes the chain's state to the database when it changed. Only the holder of the chain's lease
 * writes. A halt that an earlier holder stored holds until a round succeeds.
 */
function createStatusReport({ network: { chain }, store, observe, lease }: ReportDeps): () => Promise<void> {
  let reported: { readonly token: Lease['fencingToken']; readonly text: string } | undefined;
  return async () => {
    const held = lease.current();
    if (held === undefined) return;
    try {
      if (reported?.token !== held.fencingToken) {
        const stored = await store.readStatus(chain);
        if (stored?.state === 'HALTED') observe.inheritedHalt(chain, stored.reason ?? 'UNKNOWN');
      }
      const status = observe.status(chain);
      const text = JSON.stringify(status);
      if (reported?.token === held.fencingToken && reported.text === text) return;
      await store.writeStatus(held, chain, status);
      reported = { token: held.fencingToken, text };
    } catch (error) {
      // The next holder reports.
      if (error instanceof GatewayError && error.code === 'LEASE_LOST') return;
      throw error;
    }
  };
}
