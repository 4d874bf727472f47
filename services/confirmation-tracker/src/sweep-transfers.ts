import { settleEach, settleTransfers, type HandlerDeps } from './handlers/settle-event.ts';
import { settleHotWalletDeposits } from './hot-wallet-deposits.ts';
import { isolates } from './settle-orders.ts';
import { findUnsettled, startOfSweep, SWEEP_FROM_NOW, type SweepPosition } from './store/find-unsettled.ts';
import { ORDERS_PER_TRANSACTION } from './store/lock-orders.ts';

export interface TransferSweepOptions {
  /** Per query. */
  readonly pageSize: number;
  /** Transfers changed less than this ago are left to their events. */
  readonly graceMs: number;
  /** Overlap with the last sweep; must exceed the duration of any scanner transaction. */
  readonly lookBackMs: number;
  /** Start of the first sweep. */
  readonly from: 'beginning' | 'now';
}

/**
 * Settles transfers whose events were lost, and all transfers to hot wallets. The first sweep reads the whole table in
 * pages, or no row. Later ones read what changed since the last sweep began, less the look-back: `updated_at` is when a
 * scanner's transaction began, not when it committed. A failed sweep continues where it stopped.
 *
 * The service runs two. A quick one over the last seconds bounds the delay while the broker is down. A thorough one,
 * from the beginning and with a long look-back, finds transfers from downtimes or very slow transactions.
 */
export function createTransferSweep(
  deps: HandlerDeps,
  options: TransferSweepOptions,
): (signal: AbortSignal) => Promise<void | 'again'> {
  let position: SweepPosition | null = null;
  let begunAt: string | null = null;
  let found = 0;

  return async (signal) => {
    position ??=
      begunAt === null && options.from === 'now' ? SWEEP_FROM_NOW : startOfSweep(begunAt, options.lookBackMs);
    const page = await findUnsettled(deps.db, position, options.pageSize, options.graceMs);
    for (let i = 0; i < page.unsettled.length && !signal.aborted; i += ORDERS_PER_TRANSACTION) {
      await settleAll(deps, page.unsettled.slice(i, i + ORDERS_PER_TRANSACTION));
    }
    await settleHotWalletDeposits(deps, page.ofHotWallets);
    if (signal.aborted) return undefined;
    found += page.unsettled.length;
    position = page.next;
    if (position !== null) return 'again';
    begunAt = page.now;
    deps.observe.transfersSwept(found);
    found = 0;
    return undefined;
  };
}

async function settleAll(deps: HandlerDeps, transferIds: readonly number[]): Promise<void> {
  try {
    await settleTransfers(deps, transferIds);
  } catch (error) {
    if (!isolates(error)) throw error;
    await settleEach(deps, transferIds);
  }
}
