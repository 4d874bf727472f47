import type { EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import type { Chain } from '@opentill/domain/chains';
import type { Tx } from '@opentill/db/database';
import { handleOnce } from '@opentill/db/inbox';
import { loadCancels, payoutsByKey, settleFees, type PayoutSelection } from '../store/payouts.ts';
import { isolates } from '../settle-orders.ts';
import { settlePayouts } from '../settle-payouts.ts';
import { ORDERS_PER_TRANSACTION, type LockOptions } from '../store/lock-orders.ts';
import { committed, inboxKeyOf, type HandlerDeps } from './settle-event.ts';

/**
 * One transaction with the event's inbox row. If one payout fails, the others are settled one by one; the event then
 * fails and is dead-lettered.
 */
export async function settlePayoutEvent(
  deps: HandlerDeps,
  envelope: EventEnvelope<EventType>,
  selection: PayoutSelection,
  also: (tx: Tx) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  try {
    const outcome = await handleOnce(deps.db, inboxKeyOf(envelope), async (tx) => {
      const settled = await settlePayouts(tx, deps, selection);
      await also(tx);
      return settled;
    });
    if (outcome.handled) committed(deps, outcome.result);
  } catch (error) {
    if (isolates(error)) await settleEachPayout(deps, await keysOf(deps, selection));
    throw error;
  }
}

/** If a batch fails, its payouts are settled one by one. Returns the number of orders changed. */
export async function settlePayoutKeys(deps: HandlerDeps, orderPks: readonly string[]): Promise<number> {
  let settled = 0;
  for (let i = 0; i < orderPks.length; i += ORDERS_PER_TRANSACTION) {
    const some = orderPks.slice(i, i + ORDERS_PER_TRANSACTION);
    try {
      settled += await inOneTransaction(deps, payoutsByKey(some), { skipLocked: true });
    } catch (error) {
      if (!isolates(error)) throw error;
      settled += await settleEachPayout(deps, some);
    }
  }
  return settled;
}

export async function settleCancels(
  tx: Tx,
  deps: HandlerDeps,
  chain: Chain,
  txHashes: readonly string[],
): Promise<void> {
  await settleFees(tx, await loadCancels(tx, chain, txHashes), deps.nativeSymbolOf);
}

async function settleEachPayout(deps: HandlerDeps, orderPks: readonly string[]): Promise<number> {
  let settled = 0;
  for (const orderPk of orderPks) {
    try {
      settled += await inOneTransaction(deps, payoutsByKey([orderPk]));
    } catch (error) {
      if (!isolates(error)) throw error;
      deps.observe.notSettled({ orderPk }, error);
    }
  }
  return settled;
}

async function inOneTransaction(
  deps: HandlerDeps,
  selection: PayoutSelection,
  options: LockOptions = {},
): Promise<number> {
  const outcomes = await deps.db.transaction().execute((tx) => settlePayouts(tx, deps, selection, options));
  committed(deps, outcomes);
  return outcomes.length;
}

async function keysOf(deps: HandlerDeps, selection: PayoutSelection): Promise<readonly string[]> {
  const { rows } = await selection.execute(deps.db);
  return rows.map((row) => Object.values(row as Record<string, string>)[0] ?? '');
}
