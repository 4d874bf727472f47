import type { ExpiringView } from './store/attempt-store.ts';
import type { ExpiringContext } from './pass-deps.ts';

const NAMED_MAX = 5;

/**
 * Halts the wallet when it did what nobody here signed: somebody else has the key or was allowed to spend, or it was signed here
 * in commits that were lost. The scanner's verified reading is the proof: there is no count of transactions that could say it,
 * so it looks at the sender of each one in each block. @returns whether it was halted now
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
