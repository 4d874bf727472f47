import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { Clock } from '@opentill/runtime/clock';
import { compareClocks } from '../policy/compare-clocks.ts';
import type { Observe } from '../observe/observe.ts';
import type { Obstacle, WalletKey } from '../payouts/payout-facts.ts';

/** Reads the clocks that a pass relies on. @returns which of them differ too much, in words; undefined: none */
export type ReadClocks = () => Promise<string | undefined>;

/** Compares the clocks of the database, of this process and of the chain; see compareClocks. */
export function createClockReader(db: Db, chain: Chain, clock: Clock): ReadClocks {
  return async () => {
    const fromMs = clock.now().getTime();
    const { rows } = await sql<{ now: Date; seen: Date | null; verified: Date | null }>`
      select clock_timestamp() as now, c.verified_time as verified,
        (select b.block_time from block b where b.chain = c.chain and b.height = c.seen_height) as seen
      from (select) one left join chain_cursor c on c.chain = ${chain}`.execute(db);
    const toMs = clock.now().getTime();
    const [row] = rows;
    if (row === undefined) throw new Error('a query of one row gave none');
    const verifiedMs = row.verified?.getTime();
    return compareClocks(chain, {
      databaseMs: row.now.getTime(),
      own: { fromMs, toMs },
      chain: verifiedMs === undefined ? null : { verifiedMs, seenMs: row.seen?.getTime() ?? verifiedMs },
    });
  };
}

/**
 * What stops signing: what did already, or clocks that differ. Only CHAIN_AHEAD stays before that, since it keeps payouts from
 * expiring.
 */
export async function stopForClocks(
  { readClocks, observe, key }: ClockContext,
  pausedBy: Obstacle | undefined,
): Promise<Obstacle | undefined> {
  const difference = await readClocks();
  observe.clocksDiffer(key, difference);
  return difference === undefined || pausedBy === 'CHAIN_AHEAD' ? pausedBy : 'CLOCKS_DIFFER';
}

interface ClockContext {
  readonly readClocks: ReadClocks;
  readonly observe: Pick<Observe, 'clocksDiffer'>;
  readonly key: WalletKey;
}
