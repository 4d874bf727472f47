import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';

const TRIES = 5;
/** Lower, because mostly the node does not have the block yet. */
const TRIES_FOR_MISSING = 3;
const QUICK_FAILURE_MS_MAX = 1_000;
/** Shared by all blocks of a round: eight for missing or inconsistent answers, or four for broken exchanges. */
const SHARED_RETRIES = 8;
const RETRIES_TAKEN_BY_BROKEN = 2;

/**
 * Shared by blocks that are read together. With retries per block, a source that always fails at once would block the
 * round for minutes at a low rate limit, and no other source would be asked.
 */
export interface RetryBudget {
  take(tries: number): boolean;
}

export function createRetryBudget(): RetryBudget {
  let left = SHARED_RETRIES;
  return {
    take(tries) {
      if (tries > left) return false;
      left -= tries;
      return true;
    },
  };
}

export function failedQuickly(error: unknown): boolean {
  if (!isReaderError(error, 'RPC_UNAVAILABLE')) return false;
  const tookMs = error.context['tookMs'];
  return typeof tookMs !== 'number' || tookMs <= QUICK_FAILURE_MS_MAX;
}

/**
 * Retries one of many blocks that are read together. Several nodes may share a URL, some of them behind, so one of many
 * requests often fails. Without a retry, everything read before would be lost, which at a low rate limit could repeat
 * without end. Never retries after a rate-limit error.
 */
export async function retryRead<T>(
  work: () => Promise<T>,
  budget: RetryBudget,
  { signal }: ReadOptions,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const isMissing = isReaderError(error, 'BLOCK_NOT_FOUND');
      const isBroken = failedQuickly(error);
      const isRetryable = isMissing || isBroken || isReaderError(error, 'INCONSISTENT_ANSWER');
      const isLast = tries >= (isMissing ? TRIES_FOR_MISSING : TRIES);
      if (isLast || !isRetryable || signal?.aborted === true) throw error;
      if (!budget.take(isBroken ? RETRIES_TAKEN_BY_BROKEN : 1)) throw error;
    }
  }
}
