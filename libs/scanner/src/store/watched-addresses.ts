import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { WatchedAddresses } from '@opentill/chain/watched-addresses';
import type { Db } from '@opentill/db/database';
import type { Family } from '@opentill/domain/chains';
import { hotWallets } from './read-chain.ts';

export function createWatchedAddresses(db: Db, family: Family): WatchedAddresses {
  return {
    async recipients(max) {
      const { rows } = await sql<{ address: Address }>`
        (select address from deposit_address where family = ${family} limit ${max + 1})
        union all select address from hot_wallet where family = ${family}`.execute(db);
      return rows.length > max ? undefined : rows.map(({ address }) => address);
    },
    hotWallets: () => hotWallets(db, family),
  };
}
