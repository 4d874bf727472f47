import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';

const TRIES = 3;
/** A source that fails this slowly is not asked again by the same call. */
const SLOW_MS = 1_000;

/**
 * Asks again at once after a broken or inconsistent answer, or one from a lagging node: otherwise a temporary fault
 * would cost the answers of both sources. Never after a rate limit.
 */
export async function askAgain<T>(work: () => Promise<T>, { signal }: ReadOptions): Promise<T> {
  const startedAt = performance.now();
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const isSlow = performance.now() - startedAt > SLOW_MS;
      if (tries === TRIES || isSlow || signal?.aborted === true || !isRetryable(error)) throw error;
    }
  }
}

function isRetryable(error: unknown): boolean {
  return (
    isReaderError(error, 'RPC_UNAVAILABLE') ||
    isReaderError(error, 'INCONSISTENT_ANSWER') ||
    isReaderError(error, 'BLOCK_NOT_FOUND')
  );
}
