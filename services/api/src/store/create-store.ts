import type { Db } from '@opentill/db/database';
import { creations } from './create-orders.ts';
import { orderReads } from './read-orders.ts';
import { upkeep } from './maintenance.ts';
import { watching } from './watch-orders.ts';

export type Store = ReturnType<typeof createStore>;

export function createStore(db: Db) {
  return { ...creations(db), ...orderReads(db), ...watching(db), ...upkeep(db) };
}
