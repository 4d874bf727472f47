import { sql } from 'kysely';
import type { OpsInput } from '@opentill/contracts/ops/catalog';
import type { Db } from '@opentill/db/database';
import type { MovementKind } from '@opentill/db/sweep-tables';
import type { Chain } from '@opentill/domain/chains';
import { spellings } from '../format.ts';

export interface SweepMovementRow {
  readonly orderPk: string;
  readonly kind: MovementKind;
  readonly amountBaseUnits: string;
  readonly money: string;
  readonly obstacle: string | null;
}

export async function findSweeps(
  db: Db,
  { chain, open, address }: OpsInput<'listSweeps'>,
  after: string | undefined,
  limit: number,
) {
  let query = db
    .selectFrom('sweep as s')
    .select([
      's.sweep_id as sweepId',
      's.chain',
      's.address',
      's.symbol',
      's.amount',
      's.destination',
      's.destination_kind as destinationKind',
      's.method',
      's.cost_estimate as costEstimate',
      's.rent_cost as rentCost',
      's.rent_ref as rentRef',
      's.rent_ordered_at as rentOrderedAt',
      's.state',
      's.reason',
      's.planned_at as plannedAt',
      's.ended_at as endedAt',
      sql<readonly SweepMovementRow[]>`(
        select coalesce(jsonb_agg(jsonb_build_object('orderPk', m.order_pk, 'kind', m.kind, 'amountBaseUnits', o.amount::text,
          'money', p.money, 'obstacle', p.obstacle) order by m.created_at, m.order_pk), '[]')
        from movement m join orders o using (order_pk) join payout p using (order_pk) where m.sweep_id = s.sweep_id)`.as(
        'movements',
      ),
    ])
    .orderBy('s.sweep_id', 'desc')
    .limit(limit);
  if (after !== undefined) query = query.where('s.sweep_id', '<', after);
  if (chain !== undefined) query = query.where('s.chain', '=', chain);
  if (open !== undefined) query = query.where('s.state', open ? '=' : '<>', 'OPEN');
  if (address !== undefined) query = query.where('s.address', 'in', spellings(address));
  return query.execute();
}

export async function readSweepPlans(db: Db) {
  return db
    .selectFrom('sweep_plan')
    .select(['chain', 'plan', 'planned_at as plannedAt'])
    .orderBy('chain')
    .execute();
}

export async function insertSweepRequest(db: Db, chain: Chain, operator: string): Promise<number> {
  const { request_id } = await db
    .insertInto('sweep_request')
    .values({ chain, operator })
    .returning('request_id')
    .executeTakeFirstOrThrow();
  return request_id;
}

/** `wallet`: the hot wallet in use. Wallets of earlier keystores stay in the table, but no signer has their keys. */
export async function readRefundable(db: Db, transferId: number) {
  const { rows } = await sql<{
    chain: Chain;
    family: string;
    symbol: string;
    contract: string | null;
    merchant_id: string;
    amount: bigint;
    left: bigint;
    wallet: string | null;
  }>`
    select t.chain, t.family, t.symbol, t.contract_address as contract, u.merchant_id, t.amount,
      t.amount - coalesce((select sum(o.amount) from movement m join orders o using (order_pk)
        where m.transfer_id = t.transfer_id and payout_may_move(m.order_pk)), 0) as left,
      (select w.address from hot_wallet w where w.family = t.family
        order by greatest(w.added_at, (select max(b.seen_at) from hot_wallet_balance b where b.chain = t.chain and b.wallet = w.address)) desc,
          w.address limit 1) as wallet
    from unmatched_deposit u join transfer t using (transfer_id)
    where u.transfer_id = ${transferId} and not u.withdrawn and t.state = 'VERIFIED'
      and not exists (select from transfer_settlement s where s.transfer_id = t.transfer_id and s.credited)`.execute(
    db,
  );
  return rows[0];
}

export async function refundDeposit(db: Db, refund: Readonly<Record<string, unknown>>): Promise<boolean> {
  const { rows } = await sql<{ began: boolean }>`
    select refund_deposit(${JSON.stringify(refund)}::jsonb) as began`.execute(db);
  return rows[0]?.began === true;
}
