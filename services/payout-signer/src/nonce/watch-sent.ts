import type { Db } from '@opentill/db/database';
import type { Lease } from '@opentill/db/lease';
import type { ExpiringPassDeps } from '../expiring/pass-deps.ts';
import { readState } from '../expiring/store/look.ts';
import { watchForgotten } from '../expiring/watch-forgotten.ts';
import type { PassDeps } from './pass-deps.ts';
import { readKnownNonces } from './store/look.ts';
import { watchMark } from './watch-restored.ts';

/**
 * Halts a wallet whose database is older than what this machine sent. It asks no node, so it also works while the chain is
 * halted or left out. @returns whether forgotten transactions may have paid, or may still pay
 */
export type WatchSent = (lease: Lease) => Promise<boolean>;

/** Of a wallet whose transactions are ordered by nonces. */
export function watchSentNonces(
  db: Db,
  { key, mark, store, observe }: Pick<PassDeps, 'key' | 'mark' | 'store' | 'observe'>,
): WatchSent {
  return async (lease) => watchMark({ key, mark, store, observe, lease }, await readKnownNonces(db, key));
}

/** Of a wallet whose transactions end by time. */
export function watchSentTimes(
  db: Db,
  { key, mark, store, observe }: Pick<ExpiringPassDeps, 'key' | 'mark' | 'store' | 'observe'>,
): WatchSent {
  return async (lease) => {
    const state = await readState(db, key);
    return (await watchForgotten({ key, mark, store, observe, lease }, state)) === 'CHAIN_AHEAD';
  };
}
