import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Db } from '@opentill/db/database';
import { baseUnits } from '@opentill/domain/money';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import type { KnownTransaction } from './payout-store.ts';

interface KnownRow {
  readonly tx_hash: TxHash;
  readonly nonce: number;
  readonly order_pk: string;
  readonly contract_address: TokenContract | null;
  readonly to_address: Address;
  readonly amount: bigint;
}

export async function readTransactionsOf(
  db: Db,
  { chain, wallet }: WalletKey,
  orderPks: readonly string[],
): Promise<readonly KnownTransaction[]> {
  const { rows } = await sql<KnownRow>`
    select tx_hash, nonce, order_pk, contract_address, to_address, amount from own_transaction
    where order_pk = any(${orderPks}::uuid[]) and chain = ${chain} and wallet = ${wallet}`.execute(db);
  return rows.map((row) => ({
    orderPk: row.order_pk,
    nonce: row.nonce,
    txHash: row.tx_hash,
    from: wallet,
    contract: row.contract_address,
    to: row.to_address,
    amountBaseUnits: baseUnits(row.amount),
  }));
}
