import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';

const TRIES = 5;
/** Mostly the node really has not got it yet. */
const TRIES_FOR_MISSING = 3;
/** An exchange that breaks as slowly as this is no passing fault. */
const PATIENCE_MS = 1_000;
/** What all blocks of a round may take together: eight answers that are none yet, or four exchanges that broke twice. */
const SPARE = 8;
const SPARE_FOR_BROKEN = 2;

/**
 * How often blocks that are read together may be asked for again, all in all. At a few requests a second one that fails at
 * once, always, would hold the round for minutes if each block had its own tries: nobody else is asked meanwhile.
 */
export interface Patience {
  /** Whether so much is left; takes it. */
  take(tries: number): boolean;
}

export function createPatience(): Patience {
  let left = SPARE;
  return {
    take(tries) {
      if (tries > left) return false;
      left -= tries;
      return true;
    },
  };
}

/** Whether an exchange broke, and soon after it began: without the time that it waited for its turn. */
export function isBrokenQuickly(error: unknown): boolean {
  if (!isReaderError(error, 'RPC_UNAVAILABLE')) return false;
  const tookMs = error.context['tookMs'];
  return typeof tookMs !== 'number' || tookMs <= PATIENCE_MS;
}

/**
 * Asks once more, and again, for one of many blocks that have to be read together: behind one URL stand several nodes, some of them
 * behind, and of so many requests one fails often. However long it waited for its turn: at a slow rate all that was read before
 * would be lost otherwise, again and again. Never after the provider asked to be left alone, nor beyond the patience
 * that all of the blocks share.
 */
export async function askPatiently<T>(
  work: () => Promise<T>,
  patience: Patience,
  { signal }: ReadOptions,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const isMissing = isReaderError(error, 'BLOCK_NOT_FOUND');
      const isBroken = isBrokenQuickly(error);
      const isPassing = isMissing || isBroken || isReaderError(error, 'INCONSISTENT_ANSWER');
      const isLast = tries >= (isMissing ? TRIES_FOR_MISSING : TRIES);
      if (isLast || !isPassing || signal?.aborted === true) throw error;
      if (!patience.take(isBroken ? SPARE_FOR_BROKEN : 1)) throw error;
    }
  }
}
