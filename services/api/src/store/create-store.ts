import { configuredTokens } from '@opentill/contracts/format-unmatched';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { choices } from './choose-option.ts';
import { creations } from './create-orders.ts';
import { linkStore } from './links.ts';
import { orderReads } from './read-orders.ts';
import { rateReads } from './read-rate.ts';
import { upkeep } from './maintenance.ts';
import { watching } from './watch-orders.ts';

export type Store = ReturnType<typeof createStore>;

export function createStore(db: Db, networks: readonly NetworkConfig[]) {
  const enabled = networks.filter((network) => network.enabled);
  return {
    ...creations(db),
    ...choices(db),
    ...orderReads(db, configuredTokens(networks)),
    ...linkStore(db),
    ...rateReads(db),
    ...watching(db),
    ...upkeep(db, enabled),
  };
}
