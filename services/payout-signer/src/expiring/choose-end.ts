import { isReaderError } from '@opentill/chain/reader-error';
import { SIGNED_AHEAD_MAX_MS } from '@opentill/contracts/payout-terms';
import type { ExpiringContext } from './pass-deps.ts';
import type { End } from './store/attempt-facts.ts';
import type { ExpiringView } from './store/attempt-store.ts';

/**
 * A head that is so far ahead of what the own scan has seen is no measure of an expiry: the scanner is behind, or one node says
 * what it likes, and what is signed by it could not be proven dead for as long.
 */
const BEHIND_MS = 60_000;

/** No two epochs last for longer. */
const WINDOW_MAX_MS = 2 * 86_400_000;

/** Whether the own scan is too far behind a head of this time for anything to be signed by it. */
export function isBehind({ cursor }: ExpiringView, headMs: number): boolean {
  const seenMs = cursor?.seen.timeMs ?? 0;
  const verifiedMs = cursor?.verified.timeMs ?? 0;
  // What the own scan has seen may itself be one node's word: a time that it made up would keep a payout waiting for its end.
  return headMs - seenMs > BEHIND_MS || headMs - verifiedMs > SIGNED_AHEAD_MAX_MS;
}

/**
 * When what is signed now ends: so long after the head's time; or with epochs, counted from the one of the block that the own scan
 * has verified, which no node can make up. Undefined while that is behind what a node says, or not known.
 */
export async function chooseEnd(
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
    // When its epochs are expected to end is one node's word: it proves nothing, and must not be a time that nobody can read.
    const verifiedMs = cursor?.verified.timeMs ?? 0;
    const isTime = Number.isSafeInteger(window.expiresMs) && window.expiresMs > verifiedMs;
    const latestMs = verifiedMs + WINDOW_MAX_MS;
    return { ...window, expiresMs: isTime ? Math.min(window.expiresMs, latestMs) : latestMs };
  } catch (error) {
    if (isReaderError(error, 'BLOCK_NOT_FOUND')) return undefined;
    throw error;
  }
}
