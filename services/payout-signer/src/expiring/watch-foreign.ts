import type { ExpiringView } from './store/attempt-store.ts';
import type { ExpiringContext } from './pass-deps.ts';

const NAMED_MAX = 5;

/**
 * A third party has the key or an allowance, or the commits that signed these transactions were lost. No count shows
 * this on chains without nonces, so the scanner checks each sender. Returns whether the wallet was halted now.
 */
export async function watchForeign(
  { store, lease, observe, key }: ExpiringContext,
  { foreign }: ExpiringView,
): Promise<boolean> {
  if (foreign.length === 0) return false;
  const named = foreign.slice(0, NAMED_MAX).join(', ');
  const more = foreign.length > NAMED_MAX ? ` and ${foreign.length - NAMED_MAX} more` : '';
  const reason = `transactions that this database does not know: ${named}${more}`;
  const halted = await store.haltForeign(lease, reason);
  if (halted.length > 0) observe.foreignTransactions(key, halted);
  return halted.length > 0;
}
