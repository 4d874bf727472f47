import { ROLLED_ROWS_MAX, rollInbox } from '@opentill/db/housekeeping';
import type { CheckResult } from '@opentill/runtime/health';
import { startLoop } from '@opentill/runtime/loop';
import type { HandlerDeps } from './handlers/settle-event.ts';
import type { PayableCoin } from './native-symbols.ts';
import { sweepDecisions } from './sweep-decisions.ts';
import { sweepDueOrders } from './sweep-due-orders.ts';
import { sweepPayableCoins } from './sweep-payable-coins.ts';
import { createFateSweep, sweepDuePayouts } from './sweep-payouts.ts';
import { createTransferSweep } from './sweep-transfers.ts';

export interface TrackerTiming {
  /** Quick and thorough sweeps: see createTransferSweep. */
  readonly transferSweepMs: number;
  readonly thoroughSweepMs: number;
  /** Transfers changed less than this ago are left to their events. */
  readonly sweepGraceMs: number;
  readonly dueSweepMs: number;
  /** For orders that need less depth than the verified cursor has (findDueOrders). */
  readonly thoroughDueSweepMs: number;
  /** For due payouts, outcomes of own transactions and operators' decisions. */
  readonly payoutSweepMs: number;
  /** Messages do not wait longer in a queue; a late one would change no state. */
  readonly inboxKeptSeconds: number;
}

export const DEFAULT_TIMING: TrackerTiming = {
  transferSweepMs: 2_000,
  thoroughSweepMs: 60_000,
  sweepGraceMs: 2_000,
  dueSweepMs: 1_000,
  thoroughDueSweepMs: 15_000,
  payoutSweepMs: 5_000,
  inboxKeptSeconds: 86_400,
};

const SWEEP_PAGE = 5_000;
/** Longer than a scanner's transaction takes. */
const QUICK_LOOK_BACK_MS = 15_000;
const THOROUGH_LOOK_BACK_MS = 600_000;

/** The service is unready when a sweep has not succeeded for this long after its due time. */
const SWEEP_STALE_MS = 60_000;
const HOUSEKEEPING_MS = 600_000;
const MAX_BACKOFF_MS = 5_000;

export interface Sweeps {
  wakeDueSweep(): void;
  check(): CheckResult;
  stop(): Promise<void>;
}

export function startSweeps(
  deps: HandlerDeps,
  timing: TrackerTiming,
  coins: readonly PayableCoin[] = [],
): Sweeps {
  const { clock, observe } = deps;
  const freshUntil = new Map<string, number>();
  const sweep = (name: string, intervalMs: number, run: (signal: AbortSignal) => Promise<void | 'again'>) => {
    const succeeded = () => void freshUntil.set(name, clock.now().getTime() + intervalMs + SWEEP_STALE_MS);
    succeeded();
    return startLoop({
      name,
      intervalMs,
      maxBackoffMs: MAX_BACKOFF_MS,
      run: async (signal) => {
        const result = await run(signal);
        succeeded();
        return result;
      },
      onError: (error, failuresInRow) => observe.sweepFailed(name, error, failuresInRow),
    });
  };
  const roll = async () => {
    const rolled = await rollInbox(deps.db, 'tracker', timing.inboxKeptSeconds);
    observe.inboxRolled(rolled);
    return rolled.deleted === ROLLED_ROWS_MAX ? 'again' : undefined;
  };
  const due = sweep('due orders', timing.dueSweepMs, () => sweepDueOrders(deps, { everyDepth: false }));
  const allDue = sweep('all due orders', timing.thoroughDueSweepMs, () => sweepDueOrders(deps));
  const options = { pageSize: SWEEP_PAGE, graceMs: timing.sweepGraceMs };
  const quick = createTransferSweep(deps, { ...options, from: 'now', lookBackMs: QUICK_LOOK_BACK_MS });
  const thorough = createTransferSweep(deps, {
    ...options,
    from: 'beginning',
    lookBackMs: THOROUGH_LOOK_BACK_MS,
  });
  const transfers = sweep('transfers', timing.transferSweepMs, quick);
  const allTransfers = sweep('all transfers', timing.thoroughSweepMs, thorough);
  const duePayouts = sweep('due payouts', timing.payoutSweepMs, () => sweepDuePayouts(deps));
  const decisions = sweep('decisions', timing.payoutSweepMs, () => sweepDecisions(deps));
  const quickFates = createFateSweep(deps, { ...options, from: 'now', lookBackMs: QUICK_LOOK_BACK_MS });
  const thoroughFates = createFateSweep(deps, {
    ...options,
    from: 'beginning',
    lookBackMs: THOROUGH_LOOK_BACK_MS,
  });
  const fates = sweep('fates', timing.payoutSweepMs, quickFates);
  const allFates = sweep('all fates', timing.thoroughSweepMs, thoroughFates);
  const payable = sweep('payable coins', timing.thoroughSweepMs, () => sweepPayableCoins(deps, coins));
  const housekeeping = startLoop({
    name: 'housekeeping',
    intervalMs: HOUSEKEEPING_MS,
    run: roll,
    onError: (error, failuresInRow) => observe.sweepFailed('housekeeping', error, failuresInRow),
  });
  return {
    wakeDueSweep: () => due.wake(),
    check() {
      const now = clock.now().getTime();
      const stale = [...freshUntil].filter(([, until]) => now > until).map(([name]) => name);
      return stale.length === 0
        ? { ok: true }
        : { ok: false, detail: `no successful sweep for 60 s: ${stale.join(', ')}` };
    },
    async stop() {
      const loops = [due, allDue, transfers, allTransfers, duePayouts, decisions, fates, allFates, payable];
      await Promise.all([...loops, housekeeping].map((loop) => loop.stop()));
    },
  };
}
