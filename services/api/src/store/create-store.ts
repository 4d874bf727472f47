import type { TokenId } from '@opentill/contracts/format-unmatched';
import type { Db } from '@opentill/db/database';
import { creations } from './create-orders.ts';
import { orderReads } from './read-orders.ts';
import { upkeep } from './maintenance.ts';
import { watching } from './watch-orders.ts';

export type Store = ReturnType<typeof createStore>;

/** @param tokens the configured ones */
export function createStore(db: Db, tokens: readonly TokenId[]) {
  return { ...creations(db), ...orderReads(db, tokens), ...watching(db), ...upkeep(db) };
}
