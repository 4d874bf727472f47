import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';

/** A deposit address, and where the database says that it is derived. */
export interface DepositAddress {
  readonly address: Address;
  readonly index: number;
}

/**
 * Deposit addresses with a sweep to send, or sent and not final: those of open sweeps alone, of which there are few. The
 * longest waiting first.
 */
export async function findMovingDeposits(
  db: Db,
  chain: Chain,
  limit: number,
): Promise<readonly DepositAddress[]> {
  const { rows } = await sql<{ wallet: Address; derivation_index: number }>`
    select p.wallet, d.derivation_index from sweep s join movement m using (sweep_id) join payout p using (order_pk)
      join deposit_address d on d.family = s.family and d.address = p.wallet
    where s.chain = ${chain} and s.state = 'OPEN' and m.kind = 'SWEEP' and (
      p.state in ('REQUESTED', 'AUTHORISED')
      or p.state = 'SIGNED' and (
        exists (select from wallet_nonce n where n.order_pk = p.order_pk and n.state in ('RESERVED', 'SIGNED'))
        or exists (select from payout_attempt a where a.order_pk = p.order_pk and a.state = 'OPEN')))
    group by p.wallet, d.derivation_index order by min(p.requested_at), p.wallet limit ${limit}`.execute(db);
  return rows.map((row) => ({ address: row.wallet, index: row.derivation_index }));
}
