import type { Obstacle } from '../payouts/payout-facts.ts';
import { isOver, type End } from './store/attempt-facts.ts';
import type { ExpiringView } from './store/attempt-store.ts';
import type { ExpiringContext } from './pass-deps.ts';
import type { MarkOfSends } from './send-mark.ts';

/**
 * Holds what the database knows against what was sent from here: one that knows less was restored, or lost commits, and signs
 * nothing until an operator has seen to it. Then nothing is signed either before the chain's own final time is past all that was
 * sent: forgotten bytes can't land beside what is signed after that. @returns what stops the wallet besides a halt
 */
export async function watchForgotten(
  { mark, store, lease, observe, key }: Pick<ExpiringContext, 'mark' | 'store' | 'lease' | 'observe' | 'key'>,
  view: Pick<ExpiringView, 'cursor' | 'lastUniqueMs' | 'releasedMark'>,
): Promise<Obstacle | undefined> {
  const behind = view.cursor === null ? 'CHAIN_BEHIND' : undefined;
  const sent = await mark.read();
  if (sent === undefined) return behind;
  const isReleased = sent.uniqueMs <= (view.releasedMark ?? 0);
  // Also when the last of what was sent is known again: what was sent before it may still be unknown.
  if (isReleased) return isOver(endOf(sent), view.cursor) ? behind : 'CHAIN_AHEAD';
  if (sent.uniqueMs > (view.lastUniqueMs ?? 0)) {
    const reason = `transactions with unique times up to ${sent.uniqueMs} were sent from here, and this database knows of none above ${view.lastUniqueMs ?? 'any'}`;
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
