import type { OpsInput } from '@opentill/contracts/ops/catalog';
import type { Db } from '@opentill/db/database';
import { sql } from 'kysely';
import { isSymbol } from './is-symbol.ts';
import { refundedOf } from './unmatched.ts';
import { FAMILIES } from '@opentill/domain/chains';
import { EVERY_CHAIN } from './every-chain.ts';
import { dateOf } from '../page.ts';
import { spellings } from '../format.ts';

function transfers(db: Db) {
  return db
    .selectFrom('transfer as t')
    .leftJoin('transfer_settlement as s', 's.transfer_id', 't.transfer_id')
    .leftJoin('unmatched_deposit as u', (join) =>
      join.onRef('u.transfer_id', '=', 't.transfer_id').on('u.withdrawn', '=', false),
    )
    .select([
      't.transfer_id as transferId',
      't.chain',
      't.tx_hash as txHash',
      't.position',
      't.symbol',
      't.contract_address as contractAddress',
      't.from_address as from',
      't.to_address as to',
      't.amount',
      't.block_height as blockHeight',
      't.block_hash as blockHash',
      't.block_time as blockTime',
      't.state',
      't.detected_at as detectedAt',
      't.verified_at as verifiedAt',
      's.order_pk as orderPk',
      's.booked',
      's.credited',
      'u.reason as unmatchedReason',
    ]);
}

export async function findTransfers(
  db: Db,
  filter: OpsInput<'listTransfers'>,
  after: string | undefined,
  limit: number,
) {
  const [from, until] = [dateOf(filter.from), dateOf(filter.until)];
  let query = transfers(db).orderBy('t.transfer_id', 'desc').limit(limit);
  if (after !== undefined) query = query.where('t.transfer_id', '<', Number(after));
  if (filter.chain !== undefined) query = query.where('t.chain', '=', filter.chain);
  if (filter.symbol !== undefined) query = query.where(isSymbol('t.symbol', filter.symbol));
  if (filter.state !== undefined) query = query.where('t.state', '=', filter.state);
  if (from !== undefined) query = query.where('t.block_time', '>=', from);
  if (until !== undefined) query = query.where('t.block_time', '<', until);
  if (filter.address !== undefined) {
    query = query.where('t.family', 'in', FAMILIES).where('t.to_address', 'in', spellings(filter.address));
  }
  if (filter.txid !== undefined) {
    query = query
      .where(sql<boolean>`t.chain = any(${EVERY_CHAIN})`)
      .where('t.tx_hash', 'in', spellings(filter.txid));
  }
  return query.execute();
}

export type TransferRow = Awaited<ReturnType<typeof findTransfers>>[number];

export async function transfersOf(db: Db, orderPk: string, limit: number) {
  return transfers(db)
    .innerJoin('deposit_address as d', (join) =>
      join.onRef('d.family', '=', 't.family').onRef('d.address', '=', 't.to_address'),
    )
    .where('d.order_pk', '=', orderPk)
    .orderBy('t.transfer_id')
    .limit(limit)
    .execute();
}

export async function findUnmatched(
  db: Db,
  filter: OpsInput<'listUnmatchedDeposits'>,
  after: string | undefined,
  limit: number,
) {
  let query = transfers(db)
    .innerJoin('orders as o', 'o.order_pk', 'u.order_pk')
    .select([
      'u.merchant_id as merchantId',
      'u.order_pk as unmatchedOrderPk',
      'o.order_id as orderId',
      'o.status as orderStatus',
      'u.created_at as createdAt',
      refundedOf(sql`t.transfer_id`).as('refunded'),
    ])
    .where('u.transfer_id', 'is not', null)
    .orderBy('t.transfer_id', 'desc')
    .limit(limit);
  if (after !== undefined) query = query.where('t.transfer_id', '<', Number(after));
  if (filter.merchantId !== undefined) query = query.where('u.merchant_id', '=', filter.merchantId);
  if (filter.chain !== undefined) query = query.where('t.chain', '=', filter.chain);
  if (filter.symbol !== undefined) query = query.where(isSymbol('t.symbol', filter.symbol));
  if (filter.reason !== undefined) query = query.where('u.reason', '=', filter.reason);
  if (filter.open !== undefined)
    query = query.where(sql<boolean>`(${refundedOf(sql`t.transfer_id`)} < t.amount) = ${filter.open}`);
  return query.execute();
}
