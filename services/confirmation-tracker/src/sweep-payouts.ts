import type { Chain } from '@opentill/domain/chains';
import { settleCancels, settlePayoutKeys } from './handlers/settle-payout-event.ts';
import type { HandlerDeps } from './handlers/settle-event.ts';
import { findDuePayouts, readFates, type FatePosition, type UnsettledFate } from './store/find-payouts.ts';
import { ORDERS_PER_TRANSACTION } from './store/lock-orders.ts';

/** Their events were lost. @returns 'again' if there may be more */
export async function sweepDuePayouts(deps: HandlerDeps): Promise<void | 'again'> {
  const orderPks = await findDuePayouts(deps.db, ORDERS_PER_TRANSACTION);
  if (orderPks.length === 0) return undefined;
  const settled = await settlePayoutKeys(deps, orderPks);
  return settled > 0 && orderPks.length >= ORDERS_PER_TRANSACTION ? 'again' : undefined;
}

export interface FateSweepOptions {
  /** Per query. */
  readonly pageSize: number;
  /** Outcomes changed less than this ago are left to their events. */
  readonly graceMs: number;
  /** Overlap with the last sweep; must exceed the duration of any scanner transaction. */
  readonly lookBackMs: number;
  readonly from: 'beginning' | 'now';
}

/** Like createTransferSweep, for outcomes of own transactions. */
export function createFateSweep(
  deps: HandlerDeps,
  options: FateSweepOptions,
): (signal: AbortSignal) => Promise<void | 'again'> {
  const start = (updatedAt: string): FatePosition => ({ updatedAt, chain: '', txHash: '' });
  let position = start(options.from === 'now' ? 'now' : '-infinity');
  let begunAt: string | undefined;
  let found = 0;

  return async (signal) => {
    const page = await readFates(deps.db, position, options);
    begunAt ??= page.now;
    const unsettled = page.fates.filter((fate) => !fate.isSettled);
    await settleFates(deps, unsettled);
    found += unsettled.length;
    const last = page.fates.at(-1);
    if (page.fates.length === options.pageSize && last !== undefined) {
      position = last;
      return signal.aborted ? undefined : 'again';
    }
    position = start(new Date(Date.parse(begunAt) - options.lookBackMs).toISOString());
    begunAt = undefined;
    deps.observe.fatesSwept(found);
    found = 0;
    return undefined;
  };
}

async function settleFates(deps: HandlerDeps, fates: readonly UnsettledFate[]): Promise<void> {
  const orderPks = fates.flatMap(({ orderPk }) => (orderPk === null ? [] : [orderPk]));
  if (orderPks.length > 0) await settlePayoutKeys(deps, [...new Set(orderPks)]);
  const cancels = fates.filter(({ orderPk }) => orderPk === null);
  for (const chain of new Set(cancels.map((fate) => fate.chain as Chain))) {
    const txHashes = cancels.filter((fate) => fate.chain === chain).map((fate) => fate.txHash);
    await deps.db.transaction().execute((tx) => settleCancels(tx, deps, chain, txHashes));
  }
}
