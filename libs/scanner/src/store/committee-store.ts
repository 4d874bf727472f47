import { sql } from 'kysely';
import type { CertifiedEnd, CommitteeMember, EpochCommittee } from '@opentill/chain/epoch-committee';
import { assertLease, type Lease } from '@opentill/db/lease';
import type { Db, Tx } from '@opentill/db/database';
import type { ServiceSchema } from '@opentill/db/service-schema';
import type { Chain } from '@opentill/domain/chains';

export function createCommitteeStore({ db, schema }: { readonly db: Db; readonly schema: ServiceSchema }) {
  return {
    async latest(chain: Chain): Promise<EpochCommittee | undefined> {
      const { rows } = await sql<{ epoch: number; members: readonly CommitteeMember[] }>`
        select epoch, members from epoch_committee where chain = ${chain} order by epoch desc limit 1`.execute(
        db,
      );
      return rows[0];
    },
    /** No effect if a committee is stored. Throws LEASE_LOST. */
    trust: (lease: Lease, chain: Chain, committee: EpochCommittee) =>
      db.transaction().execute(async (tx) => {
        await assertLease(tx, schema, lease);
        const { rows } = await sql`select from epoch_committee where chain = ${chain} limit 1`.execute(tx);
        if (rows.length === 0) await insert(tx, chain, committee, true);
      }),
    /** Stores the certified end and the next committee. True if the scan stored another end. Throws LEASE_LOST. */
    certify: (lease: Lease, chain: Chain, epoch: number, { height, hash, next }: CertifiedEnd) =>
      db.transaction().execute(async (tx) => {
        await assertLease(tx, schema, lease);
        await sql`
          update epoch_committee set end_height = ${height}, end_hash = ${hash}
          where chain = ${chain} and epoch = ${epoch} and end_hash is null`.execute(tx);
        await insert(tx, chain, next, false);
        const { rows } = await sql`
          select from epoch_end where chain = ${chain} and epoch = ${epoch} and hash <> ${hash}`.execute(tx);
        return rows.length > 0;
      }),
  };
}

async function insert(
  tx: Tx,
  chain: Chain,
  { epoch, members }: EpochCommittee,
  isTrusted: boolean,
): Promise<void> {
  await sql`
    insert into epoch_committee (chain, epoch, members, is_trusted)
    values (${chain}, ${epoch}, ${JSON.stringify(members)}::jsonb, ${isTrusted})
    on conflict do nothing`.execute(tx);
}
