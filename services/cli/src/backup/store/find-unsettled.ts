import type { Db } from '@opentill/db/database';
import { sql } from 'kysely';
import type { Hold } from './restored-rows.ts';

/** At the end every earlier transaction is verified, or landed nowhere and is listed as a payout to decide. */
export async function findUnsettledOnTron(
  db: Db,
  { restoreId, chain, wallet }: Hold,
): Promise<readonly string[]> {
  const { rows } = await sql<{ tx_hash: string }>`
    select a.tx_hash from payout_attempt a join restore_hold h on h.restore_id = ${restoreId} and h.chain = a.chain and h.wallet = a.wallet
      left join own_transaction_fate f on f.chain = a.chain and f.tx_hash = a.tx_hash
    where a.chain = ${chain} and a.wallet = ${wallet} and a.state = 'OPEN' and f.state is distinct from 'VERIFIED'
      and (f.state = 'MINED' or a.expires_ms > h.read_over_ms)`.execute(db);
  return rows.map((row) => row.tx_hash);
}

/** In-flight transactions of the backup in a checkpoint must be verified before the release. */
export async function findUnsettledOnSui(db: Db, { chain, wallet }: Hold): Promise<readonly string[]> {
  const { rows } = await sql<{ tx_hash: string }>`
    select a.tx_hash from payout_attempt a
      left join own_transaction_fate f on f.chain = a.chain and f.tx_hash = a.tx_hash
      left join own_transaction_landed l on l.chain = a.chain and l.tx_hash = a.tx_hash
    where a.chain = ${chain} and a.wallet = ${wallet} and a.state = 'OPEN' and f.state is distinct from 'VERIFIED'
      and (f.state = 'MINED' or l.tx_hash is not null or not attempt_is_over(a.chain, a.expires_ms, a.last_epoch))`.execute(
    db,
  );
  return rows.map((row) => row.tx_hash);
}
