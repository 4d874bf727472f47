import { sql } from 'kysely';
import type { TxHash } from '@opentill/chain/transfer';
import type { Db } from '@opentill/db/database';
import { familyOf } from '@opentill/domain/chains';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import type { OtherFee } from './attempt-facts.ts';
import { openGatherings } from './rows.ts';

/** Each wallet must leave enough for what is under way from the others. See ExpiringView. */
export async function readFeesElsewhere(db: Db, { chain, wallet }: WalletKey): Promise<readonly OtherFee[]> {
  const family = familyOf(chain);
  const isHot = sql`exists (select from hot_wallet h where h.family = ${family} and h.address = a.wallet)`;
  const { rows } = await sql<{ tx_hash: TxHash; fee: bigint }>`
    select t.tx_hash, (t.fee_terms->>'cost')::numeric + case when t.contract_address is null and ${isHot} then t.amount else 0 end as fee
    from payout_attempt a join own_transaction t on t.chain = a.chain and t.tx_hash = a.tx_hash
    where a.chain = ${chain} and a.state = 'OPEN' and a.wallet <> ${wallet}
      and not (${isHot} and exists (select from hot_wallet h where h.family = ${family} and h.address = ${wallet}))
    union all
    select t.tx_hash, (t.fee_terms->>'cost')::numeric ${openGatherings(chain)}`.execute(db);
  return rows.map((row) => ({ txHash: row.tx_hash, baseUnits: BigInt(row.fee) }));
}
