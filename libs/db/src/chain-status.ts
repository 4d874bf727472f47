import { sql } from 'kysely';
import type { Chain } from '@opentill/domain/chains';
import type { ChainState, ChainStatus } from '@opentill/domain/chain-status';
import type { Db, Tx } from './database.ts';

/** A row policy limits each to its own rows. */
export type StatusReporter = 'SCANNER' | 'SIGNER';

export interface ChainStatusRow extends ChainStatus {
  readonly chain: Chain;
  readonly service: StatusReporter;
  /** Start of this state and reason, by the database's clock. */
  readonly since: Date;
}

/**
 * The caller checks its lease in the same transaction. `STARTING` does not replace a halt: no payout may be signed
 * between a restart and the first round. `FAILING` and `PAUSED` do not replace `LEFT_OUT`: they do not prove that the
 * chain passes its checks.
 */
export async function writeChainStatus(
  tx: Tx,
  service: StatusReporter,
  chain: Chain,
  { state, reason, detail }: ChainStatus,
): Promise<void> {
  await sql`
    insert into chain_status as s (chain, service, state, reason, detail)
    values (${chain}, ${service}, ${state}, ${reason}, ${detail})
    on conflict (chain, service) do update set state = excluded.state, reason = excluded.reason, detail = excluded.detail,
      since = case when s.state = excluded.state and s.reason is not distinct from excluded.reason then s.since
        else clock_timestamp() end
    where (s.state, s.reason, s.detail) is distinct from (excluded.state, excluded.reason, excluded.detail)
      and not (s.state in ('HALTED', 'LEFT_OUT') and excluded.state = 'STARTING')
      and not (s.state = 'LEFT_OUT' and excluded.state in ('FAILING', 'PAUSED'))`.execute(tx);
}

/** Seconds since each scanner's last commit, by chain; no entry before the first. */
export async function readCursorAges(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ chain: string; age: number }>`
    select chain, extract(epoch from now() - updated_at)::float8 as age from chain_cursor`.execute(db);
  return new Map(rows.map(({ chain, age }) => [chain, age]));
}

export async function readChainStatuses(db: Db): Promise<readonly ChainStatusRow[]> {
  const { rows } = await sql<ChainStatusRow>`
    select chain, service, state, reason, detail, since from chain_status order by chain, service`.execute(
    db,
  );
  return rows;
}

/** Undefined before the scanner's first report. */
export async function readScannedStatus(db: Db, chain: Chain): Promise<ChainStatus | undefined> {
  const { rows } = await sql<{ state: ChainState; reason: string | null; detail: string | null }>`
    select state, reason, detail from chain_status where chain = ${chain} and service = 'SCANNER'`.execute(
    db,
  );
  return rows[0];
}
