import type { Obstacle } from '../payouts/payout-facts.ts';
import { isOver, type End } from './store/attempt-facts.ts';
import type { ExpiringView } from './store/attempt-store.ts';
import type { ExpiringContext } from './pass-deps.ts';
import type { MarkOfSends } from './send-mark.ts';

/**
 * A database that knows less than the send mark was restored or lost commits, and halts the wallet. After an operator's
 * release, the wallet waits until the chain's final time is past everything that was sent. Returns the obstacle that
 * stops the wallet in addition to a halt.
 */
export async function checkSendMark(
  { mark, store, lease, observe, key }: Pick<ExpiringContext, 'mark' | 'store' | 'lease' | 'observe' | 'key'>,
  view: Pick<ExpiringView, 'cursor' | 'lastUniqueMs' | 'releasedMark'>,
): Promise<Obstacle | undefined> {
  const behind = view.cursor === null ? 'CHAIN_BEHIND' : undefined;
  const sent = await mark.read();
  if (sent === undefined) return behind;
  const isReleased = sent.uniqueMs <= (view.releasedMark ?? 0);
  // Applies also when the last sent transaction is known again: earlier ones may still be unknown.
  if (isReleased) return isOver(endOf(sent), view.cursor) ? behind : 'CHAIN_AHEAD';
  if (sent.uniqueMs > (view.lastUniqueMs ?? 0)) {
    const reason = `this machine sent transactions with unique times up to ${sent.uniqueMs}, and the database knows none above ${view.lastUniqueMs ?? 'any'}`;
    if (await store.haltRestored(lease, sent.uniqueMs, reason)) observe.restored(key, reason);
    return 'CHAIN_AHEAD';
  }
  return behind;
}

function endOf({ expiresMs, lastEpoch }: MarkOfSends): End {
  return lastEpoch === undefined
    ? { expiresMs }
    : { expiresMs, epochs: { first: lastEpoch, last: lastEpoch } };
}
