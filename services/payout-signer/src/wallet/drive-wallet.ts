import { checkFailureOf } from '@opentill/chain/check-failure';
import type { Db } from '@opentill/db/database';
import type { Lease, LeaseKeeper } from '@opentill/db/lease';
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

/** What a wallet is driven by, whatever a pass over it does. */
export interface DrivingDeps {
  readonly leaseKeeper: LeaseKeeper;
  readonly clock: Clock;
  /** How often the lease is renewed, or asked for: a third of its time to live. */
  readonly leaseIntervalMs: number;
  /** Pause between passes that nobody asked for. */
  readonly sweepMs: number;
  /** Receives errors that stop the service, such as bytes that were signed otherwise than asked. */
  readonly fail: (error: unknown) => void;
  /** Shared by the drivers of the chain. Absent: the driver checks the chain for itself, and `fail` hears of a failed check. */
  readonly chain?: DrivenChain;
  /** Of hot wallets. */
  readonly watchSent?: WatchSent;
  /** Notes on payouts why they wait for the chain. @returns how many were marked; 0 when all are */
  readonly markHalted?: (lease: Lease, obstacle: ChainObstacle) => Promise<number>;
}

/** Parts that the drivers of all wallets have, on chains with and without nonces. */
export interface WalletParts extends DrivingDeps {
  readonly db: Db;
  readonly key: WalletKey;
  /** False for a deposit address: no file has its mark. */
  readonly isHotWallet: boolean;
  readonly rules: AuthorisationRules;
  readonly readClocks: ReadClocks;
  /** See PassDeps. */
  readonly monotonicMs: () => number;
  readonly observe: Observe;
  readonly newId: NewId;
  readonly stateDirectory: string;
  /** After a commit that appended events. */
  readonly onCommitted: () => void;
}

/** The driver of one wallet. */
export interface Driver {
  readonly key: WalletKey;
  /** There may be something to do. */
  wake(): void;
  /** Whether this replica drives the wallet. */
  leads(): boolean;
  /** When the last pass ended well, in milliseconds since 1970; undefined before the first of this lease. */
  passedAt(): number | undefined;
  /** Why payouts of the chain wait, by the last pass; undefined: they do not. */
  stoppedBy(): ChainStatus | undefined;
  /** Ends what is under way and gives the lease back. */
  stop(): Promise<void>;
}

const MAX_BACKOFF_MS = 5_000;

export interface Driven extends DrivingDeps {
  readonly key: WalletKey;
  readonly observe: Observe;
  readonly sender: { checkNetwork(options: { readonly signal: AbortSignal }): Promise<void> };
}

/** Drives a wallet while this replica has its lease, and asks for the lease while it has not. */
export function driveWallet(deps: Driven, newPass: () => Pass): Driver {
  const { key, leaseKeeper, observe, sender } = deps;
  let current: { readonly token: number; readonly pass: Pass } | undefined;
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
        // Before the first step that a node or a halt can end: payouts must not expire that forgotten bytes have paid.
        const isAhead = (await deps.watchSent?.(lease)) ?? false;
        const isAdmitted = await gate.admit(signal);
        stop = await waitForChain(deps, lease, isAdmitted, isAhead ? 'CHAIN_AHEAD' : 'CHAIN_HALTED');
        if (!isAdmitted) return undefined;
        // Whoever takes the lease anew knows nothing of what was sent meanwhile.
        if (current?.token !== lease.fencingToken) current = { token: lease.fencingToken, pass: newPass() };
        const outcome = await current.pass(lease, signal, { sendsOnly: stop !== undefined });
        passedAtMs = deps.clock.now().getTime();
        observe.passed(key);
        return outcome;
      } catch (error) {
        if (mustEnd(error)) deps.fail(error);
        const failure = checkFailureOf(error);
        if (failure !== undefined) gate.expel(failure, error);
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
    stoppedBy: () => stop,
    async stop() {
      await driving.stop();
      observe.ended(key);
    },
  };
}

/** Reports the state of the chain, and marks the payouts that wait for it. @returns why they wait */
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

/** Errors after which a restart alone would do harm, or nothing. */
const ENDS = new Set(['SIGNED_OTHERWISE', 'WALLET_UNKNOWN', 'SIGNER_CLOSED']);

function mustEnd(error: unknown): boolean {
  return error instanceof GatewayError && ENDS.has(error.code);
}

/**
 * Halts a wallet whose database is older than what this machine sent. It asks no node, so it also works while the chain is
 * halted or left out. @returns whether forgotten transactions may have paid, or may still pay
 */
export type WatchSent = (lease: Lease) => Promise<boolean>;
