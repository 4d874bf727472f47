import { settleEach, settleTransfers, type HandlerDeps } from './handlers/settle-event.ts';
import { settleHotWalletDeposits } from './hot-wallet-deposits.ts';
import { isolates } from './settle-orders.ts';
import { findUnsettled, startOfSweep, SWEEP_FROM_NOW, type SweepPosition } from './store/find-unsettled.ts';
import { ORDERS_PER_TRANSACTION } from './store/lock-orders.ts';

export interface TransferSweepOptions {
  /** Transfers looked at per query. */
  readonly pageSize: number;
  /** Transfers changed less than this ago are left to their events. */
  readonly graceMs: number;
  /** How far each sweep goes back behind the last one: longer than any transaction of a scanner may take. */
  readonly lookBackMs: number;
  /** Where the first sweep starts: at the oldest transfer, or at those that change from now on. */
  readonly from: 'beginning' | 'now';
}

/**
 * Makes the sweep that finds transfers whose message never came: version newer than the settled one, or never
 * settled; and transfers to hot wallets, which wait for it: nobody waits for them. The first sweep goes over the whole table, page by page, or over nothing, the later ones over what changed since
 * the last sweep began, less the look-back: `updated_at` is when a scanner's transaction began, not when it was committed.
 * A sweep that fails goes on where it stopped.
 *
 * The service runs two: a quick one over the last seconds, so that a lost broker delays nothing by more, and a thorough one
 * from the beginning with a long look-back, for what was lost while no tracker ran or committed by a very slow transaction.
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
    // The end of this sweep is the begin of the next: what changes from now on is behind it.
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
