import { isReaderError } from '@opentill/chain/reader-error';
import { SIGNED_AHEAD_MAX_MS } from '@opentill/contracts/payout-terms';
import type { ExpiringContext } from './pass-deps.ts';
import type { End } from './store/attempt-facts.ts';
import type { ExpiringView } from './store/attempt-store.ts';

/** Largest lead of a head over the own scan to sign by. A later expiry could not be proven dead in time. */
const BEHIND_MS = 60_000;

const WINDOW_MAX_MS = 2 * 86_400_000;

/** True when the own scan lags so far behind this head that the signer must not sign by it. */
export function isBehind({ cursor }: ExpiringView, headMs: number): boolean {
  const seenMs = cursor?.seen.timeMs ?? 0;
  const verifiedMs = cursor?.verified.timeMs ?? 0;
  // One source may have set the seen time. The second bound keeps an invented time from delaying the payout's end.
  return headMs - seenMs > BEHIND_MS || headMs - verifiedMs > SIGNED_AHEAD_MAX_MS;
}

/** By epochs: from the epoch that the own scan verified. undefined while that epoch is unknown or behind the node's. */
export async function chooseExpiry(
  { sender, signal }: ExpiringContext,
  { cursor }: ExpiringView,
  headMs: number,
): Promise<End | undefined> {
  if (sender.epochs === undefined) return { expiresMs: headMs + sender.validForMs };
  const epoch = cursor?.epoch ?? null;
  if (epoch === null) return undefined;
  try {
    const window = await sender.epochs.currentWindow(epoch, { signal });
    if (window.epochs.first !== epoch) return undefined;
    // The expected end of the epochs is one node's answer and proves no expiry. Bounded to a valid time.
    const verifiedMs = cursor?.verified.timeMs ?? 0;
    const isTime = Number.isSafeInteger(window.expiresMs) && window.expiresMs > verifiedMs;
    const latestMs = verifiedMs + WINDOW_MAX_MS;
    return { ...window, expiresMs: isTime ? Math.min(window.expiresMs, latestMs) : latestMs };
  } catch (error) {
    if (isReaderError(error, 'BLOCK_NOT_FOUND')) return undefined;
    throw error;
  }
}
