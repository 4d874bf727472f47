import type { LeaseKeeper } from '@opentill/db/lease';
import type { Chain } from '@opentill/domain/chains';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { startLoop } from '@opentill/runtime/loop';
import type { Clock } from '@opentill/runtime/clock';
import { createStartGates, type StartGates } from '@opentill/runtime/start-gates';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { checkFailureOf, type CheckFailure } from '@opentill/chain/check-failure';
import { createHeadFollowing } from './follow-heads.ts';
import { retryAfterMs } from './isolate-failure.ts';
import { createPollPace } from './poll-pace.ts';
import { createScanTick, type ScanTickDeps } from './scan-tick.ts';
import { startReporting } from './report-status.ts';

export interface ScanChainDeps extends Omit<ScanTickDeps, 'lease' | 'onFollowing'> {
  readonly lease: LeaseKeeper;
  /** A third of the lease's time to live. */
  readonly leaseIntervalMs: number;
  readonly gates: StartGates<CheckFailure>;
}

export interface ChainScan {
  readonly chain: Chain;
  wake(): void;
  stop(): Promise<void>;
}

const MAX_BACKOFF_MS = 5_000;

/** A chain that fails its start-up checks is left out and checked again. */
export function createChainGates(
  clock: Clock,
  onNoneUsable: (error: unknown) => void,
): StartGates<CheckFailure> {
  return createStartGates({ failureOf: checkFailureOf, nowMs: () => clock.now().getTime(), onNoneUsable });
}

async function checkChain({ store, network, reader }: ScanChainDeps, options: ReadOptions): Promise<void> {
  await reader.checkNetwork(options);
  await store.requireRegistered(network);
}

/**
 * Scans one chain while this replica holds its lease. The lease has its own loop, so that a slow node does not cost the
 * lease. The scan loop polls, and also runs when a subscription reports a head. A resting chain has no subscription. A
 * third loop reports the chain's state.
 */
export function startChainScan(deps: ScanChainDeps): ChainScan {
  const { network, reader, lease, observe } = deps;
  const heads = createHeadFollowing(reader, onHead);
  const tick = createScanTick({ ...deps, onFollowing });
  const pace = createPollPace(network, deps.clock);
  let hasMore = true;
  const gate = deps.gates.add((options) => checkChain(deps, options));

  const scanLoop = startLoop({
    name: `scan ${network.chain}`,
    intervalMs: network.pollIntervalMs,
    maxBackoffMs: MAX_BACKOFF_MS,
    run: async (signal) => {
      if (!pace.isDue() && !hasMore) return undefined;
      hasMore = true; // stays true after a failure, so that the round is retried
      try {
        const isAdmitted = await gate.admit(signal);
        observe.checked(network.chain, gate.leftOut());
        reporting.wakeIfChanged();
        if (!isAdmitted) return undefined;
        const outcome = await tick(signal);
        observe.ticked(network.chain);
        reporting.wakeIfChanged();
        hasMore = outcome !== undefined; // pending work must not wait for a skipped poll
        return outcome === 'again' ? outcome : undefined;
      } catch (error) {
        await abortableDelay(retryAfterMs(error), signal);
        throw error;
      }
    },
    onError(error, failuresInRow) {
      observe.failed(network.chain, 'seen', error, failuresInRow);
      reporting.wakeIfChanged();
    },
  });
  function wake(): void {
    hasMore = true;
    scanLoop.wake();
  }
  function onHead(): void {
    pace.hinted();
    scanLoop.wake();
  }
  function onFollowing(isFollowing: boolean): void {
    heads.follow(isFollowing);
    if (!isFollowing) pace.forget();
  }
  const leaseLoop = startLoop({
    name: `lease ${network.chain}`,
    intervalMs: deps.leaseIntervalMs,
    maxBackoffMs: MAX_BACKOFF_MS,
    run: async () => {
      const wasHeld = lease.current() !== undefined;
      if ((await lease.acquire()) === undefined || wasHeld) return;
      wake();
      reporting.wake();
    },
    onError: (error, failuresInRow) => observe.failed(network.chain, 'lease', error, failuresInRow),
  });
  const reporting = startReporting(deps);

  return {
    chain: network.chain,
    wake,
    async stop() {
      await Promise.all([scanLoop.stop(), leaseLoop.stop()]);
      await heads.stop();
      await reporting.stop();
      await lease.release().catch((error: unknown) => observe.failed(network.chain, 'lease', error, 1));
    },
  };
}
