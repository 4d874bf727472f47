import { checkFailureOf } from '@opentill/chain/check-failure';
import type { Db } from '@opentill/db/database';
import { isSameLease, type Lease, type LeaseKeeper } from '@opentill/db/lease';
import type { ChainStatus } from '@opentill/domain/chain-status';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import { startLoop } from '@opentill/runtime/loop';
import type { ReadClocks } from '../policy/compare-clocks.ts';
import type { AuthorisationRules } from '../policy/policy-port.ts';
import type { Observe } from '../observe/observe.ts';
import type { ChainObstacle, WalletKey } from '../payouts/payout-facts.ts';
import { createSignerGates, type DrivenChain } from './driven-chain.ts';
import { startLeaseLoop } from './lease-loop.ts';
import type { Pass } from './pass.ts';

export interface DrivingDeps {
  readonly leaseKeeper: LeaseKeeper;
  readonly clock: Clock;
  /** The lease is renewed or requested at this interval: a third of its time to live. */
  readonly leaseIntervalMs: number;
  readonly sweepMs: number;
  /** Called with errors that stop the service, such as signed bytes that differ from the request. */
  readonly fail: (error: unknown) => void;
  /** Shared by the drivers of the chain. Absent: the driver checks the chain itself and reports failures to `fail`. */
  readonly chain?: DrivenChain;
  readonly watchSent?: WatchSent;
  /** @returns number of payouts marked; 0 when all are */
  readonly markHalted?: (lease: Lease, obstacle: ChainObstacle) => Promise<number>;
}

export interface WalletParts extends DrivingDeps {
  readonly db: Db;
  readonly key: WalletKey;
  readonly isHotWallet: boolean;
  readonly rules: AuthorisationRules;
  readonly readClocks: ReadClocks;
  readonly monotonicMs: () => number;
  readonly observe: Observe;
  readonly newId: NewId;
  readonly stateDirectory: string;
  readonly onCommitted: () => void;
}

export interface Driver {
  readonly key: WalletKey;
  wake(): void;
  leads(): boolean;
  /** Time of the last successful pass under this lease, in milliseconds since 1970. */
  passedAt(): number | undefined;
  /** Chain status that made payouts wait in the last pass. */
  stopReason(): ChainStatus | undefined;
  stop(): Promise<void>;
}

const MAX_BACKOFF_MS = 5_000;

export interface Driven extends DrivingDeps {
  readonly key: WalletKey;
  readonly observe: Observe;
  readonly sender: { checkNetwork(options: { readonly signal: AbortSignal }): Promise<void> };
}

export function driveWallet(deps: Driven, newPass: () => Pass): Driver {
  const { key, leaseKeeper, observe, sender } = deps;
  let current: { readonly under: Lease; readonly pass: Pass } | undefined;
  const gate =
    deps.chain?.gate ?? createSignerGates(deps.clock, deps.fail).add((o) => sender.checkNetwork(o));
  let stop: ChainStatus | undefined;
  let passedAtMs: number | undefined;
  const name = `payouts ${key.chain} ${key.wallet}`;
  const onError = (error: unknown, failuresInRow: number) => observe.passFailed(key, error, failuresInRow);

  const work = startLoop({
    name,
    intervalMs: deps.sweepMs,
    maxBackoffMs: MAX_BACKOFF_MS,
    run: async (signal) => {
      const lease = leaseKeeper.current();
      observe.leads(key, lease !== undefined);
      if (lease === undefined) {
        passedAtMs = undefined;
        return undefined;
      }
      try {
        // Before the first step that a node or a halt can end: payouts that forgotten bytes paid must not expire.
        const isAhead = (await deps.watchSent?.(lease)) ?? false;
        const isAdmitted = await gate.admit(signal);
        stop = await waitForChain(deps, lease, isAdmitted, isAhead ? 'CHAIN_AHEAD' : 'CHAIN_HALTED');
        if (!isAdmitted) return undefined;
        // With a new lease, the memory of what was sent is outdated.
        if (current === undefined || !isSameLease(current.under, lease))
          current = { under: lease, pass: newPass() };
        const outcome = await current.pass(lease, signal, { sendsOnly: stop !== undefined });
        passedAtMs = deps.clock.now().getTime();
        observe.passed(key);
        return outcome;
      } catch (error) {
        if (mustEnd(error)) deps.fail(error);
        const failure = checkFailureOf(error);
        if (failure !== undefined) gate.leaveOut(failure, error);
        throw error;
      }
    },
    onError,
  });
  const driving = startLeaseLoop({
    leaseKeeper,
    leaseIntervalMs: deps.leaseIntervalMs,
    name,
    maxBackoffMs: MAX_BACKOFF_MS,
    work,
    onError,
  });
  return {
    key,
    wake: () => driving.wake(),
    leads: () => leaseKeeper.current() !== undefined,
    passedAt: () => passedAtMs,
    stopReason: () => stop,
    async stop() {
      await driving.stop();
      observe.ended(key);
    },
  };
}

async function waitForChain(
  { key, observe, chain, markHalted }: Pick<Driven, 'key' | 'observe' | 'chain' | 'markHalted'>,
  lease: Lease,
  isAdmitted: boolean,
  obstacle: ChainObstacle,
): Promise<ChainStatus | undefined> {
  await chain?.report(lease, isAdmitted);
  const stop = await chain?.stop();
  const marked = stop === undefined ? 0 : ((await markHalted?.(lease, obstacle)) ?? 0);
  observe.chainStopped(key, stop, marked);
  return stop;
}

/** A mere restart after these errors is harmful or useless. */
const ENDS = new Set(['SIGNED_OTHERWISE', 'WALLET_UNKNOWN', 'SIGNER_CLOSED']);

function mustEnd(error: unknown): boolean {
  return error instanceof GatewayError && ENDS.has(error.code);
}

/**
 * Asks no node, so it also works while the chain is halted. Returns whether forgotten transactions may pay or have
 * paid.
 */
export type WatchSent = (lease: Lease) => Promise<boolean>;
