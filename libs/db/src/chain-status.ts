import { sql } from 'kysely';
import type { Chain } from '@opentill/domain/chains';
import type { ChainState, ChainStatus } from '@opentill/domain/chain-status';
import type { Db, Tx } from './database.ts';

/** Reporters of a chain's state. A policy lets each role write its own rows only. */
export type StatusReporter = 'SCANNER' | 'SIGNER';

/** A row of `chain_status`. */
export interface ChainStatusRow extends ChainStatus {
  readonly chain: Chain;
  readonly service: StatusReporter;
  /** Start of this state and reason, by the database's clock. */
  readonly since: Date;
}

/**
 * Writes the state of a chain. The caller asserts its lease in the same transaction. `STARTING` replaces no halt: payouts
 * must not be signed between a restart and the first round. `FAILING` and `PAUSED` don't replace `LEFT_OUT` either: after a
 * restart they don't show that the chain passes its start-up checks.
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

/** All reported states. */
export async function readChainStatuses(db: Db): Promise<readonly ChainStatusRow[]> {
  const { rows } = await sql<ChainStatusRow>`
    select chain, service, state, reason, detail, since from chain_status order by chain, service`.execute(
    db,
  );
  return rows;
}

/** The state that the scanner reports of a chain; undefined before its first report. */
export async function readScannedStatus(db: Db, chain: Chain): Promise<ChainStatus | undefined> {
  const { rows } = await sql<{ state: ChainState; reason: string | null; detail: string | null }>`
    select state, reason, detail from chain_status where chain = ${chain} and service = 'SCANNER'`.execute(
    db,
  );
  return rows[0];
}
