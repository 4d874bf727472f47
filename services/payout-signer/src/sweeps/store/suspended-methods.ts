import { sql, type RawBuilder } from 'kysely';
import type { SweepMethod } from '@opentill/db/sweep-tables';
import type { Chain } from '@opentill/domain/chains';
import { ENERGY_DEARER, NO_ENERGY, SELLER_REFUSED } from './sweep-facts.ts';

/** Sellers normally deliver within seconds. */
const LATE_SECONDS = 180;

/**
 * Methods that sweeps must not use now. A method is suspended for an hour after a sweep that it did not supply with
 * energy, or only above the planned price. RENT is also suspended while a delivery is late, and until an hour after a
 * restore: the backup may lack later orders.
 */
export function suspendedMethods(chain: Chain): RawBuilder<SweepMethod[]> {
  return sql<SweepMethod[]>`array(
    select r.method from sweep r where r.chain = ${chain} and (
      r.state = 'ABANDONED' and r.ended_at > now() - interval '1 hour' and r.reason in (${NO_ENERGY}, ${SELLER_REFUSED}, ${ENERGY_DEARER})
      or r.state = 'OPEN' and r.method = 'RENT' and r.rent_ordered_at < now() - ${LATE_SECONDS} * interval '1 second'
        and not exists (select from movement m where m.sweep_id = r.sweep_id and m.kind = 'SWEEP'))
    union select 'RENT' where exists (select from restore_hold h where h.chain = ${chain}
      and (h.released_at is null or h.released_at > now() - interval '1 hour')))`;
}
