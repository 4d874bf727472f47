import { sql, type RawBuilder } from 'kysely';
import type { TxHash } from '@opentill/chain/transfer';
import type { Db } from '@opentill/db/database';
import type { MovementKind } from '@opentill/db/sweep-tables';
import { baseUnits } from '@opentill/domain/money';
import type {
  FeePayer,
  JudgedPayout,
  ViewOptions,
  PaidByDecision,
  PayoutFacts,
  RequestedPayout,
  UnsignedPayout,
  WalletKey,
} from '../payouts/payout-facts.ts';
import { paidForSweep } from './paid-for-sweep.ts';
import { COUNTS_AS, hasNoOwnNonce, isDecidedAgain, ofWallet } from './rows.ts';

interface PayoutRow {
  readonly order_pk: string;
  readonly order_id: string;
  readonly merchant_id: string;
  readonly symbol: string;
  readonly contract_address: string | null;
  readonly decimals: number;
  readonly address: string;
  readonly amount: bigint;
  readonly obstacle: string | null;
  readonly movement: MovementKind | null;
  readonly deposit_index: number | null;
  readonly planned_cost: bigint | null;
  readonly paid_besides: bigint | null;
  readonly counts_as: string;
}

const PLANNED_COST = sql`coalesce(m.planned_cost, (select s.cost_estimate from sweep s where s.sweep_id = m.sweep_id)) as planned_cost,
  (select ${paidForSweep(sql`m.order_pk`)} from sweep s where s.sweep_id = m.sweep_id) as paid_besides`;

const PAYOUT_COLUMNS = sql`o.order_pk, o.order_id, o.merchant_id, o.symbol, o.contract_address, o.decimals, o.address, o.amount,
  p.obstacle, m.kind as movement, ${COUNTS_AS} as counts_as,
  ${PLANNED_COST},
  (select d.derivation_index from deposit_address d where d.family = o.family
    and d.address = case m.kind when 'SWEEP' then o.source_address else o.address end) as deposit_index`;

function payoutFacts(row: PayoutRow, { wallet }: WalletKey): PayoutFacts {
  return {
    orderPk: row.order_pk,
    orderId: row.order_id,
    merchantId: row.merchant_id,
    symbol: row.symbol,
    contract: row.contract_address,
    decimals: row.decimals,
    receiver: row.address,
    amountBaseUnits: baseUnits(row.amount),
    wallet,
    obstacle: row.obstacle,
    movement:
      row.movement === null
        ? null
        : {
            kind: row.movement,
            depositIndex: row.deposit_index,
            plannedCostBaseUnits: row.planned_cost,
            paidByOthersBaseUnits: row.paid_besides ?? 0n,
          },
    countsAs: row.counts_as,
  };
}

interface JudgedRow extends PayoutRow {
  readonly is_reserved: boolean;
  readonly may_be_paid: boolean;
  readonly pays_ourselves: boolean;
  readonly is_overdue: boolean;
  readonly approvals: { approver: string; signature: string; approvedAt: string }[];
}

const judgedColumns = (
  approvers: readonly string[],
) => sql`${PAYOUT_COLUMNS}, p.expires_at <= now() as is_overdue,
  exists (
    select from ledger_transaction t join ledger_posting l using (ledger_tx_id) join ledger_account a using (account_id)
    where t.ref = 'reserve:' || o.order_pk and a.kind = coalesce(m.reserved_kind, 'HOT_RESERVED') and a.chain = o.chain
      and a.symbol = o.symbol and l.amount = o.amount
  ) or coalesce(m.kind in ('DELEGATE', 'UNDELEGATE'), false) as is_reserved,
  exists (
    select from forgotten_payment f
    where f.chain = o.chain and f.to_address = o.address and f.amount = o.amount and f.order_pk is null and f.guards
      and lower(f.contract_address) is not distinct from lower(o.contract_address)
  ) or exists (select from doubtful_payout d where d.order_pk = o.order_pk and d.decision is null)
    or (exists (select from foreign_transaction x where x.chain = o.chain and x.wallet = p.wallet and x.to_address = o.address)
        or exists (select from foreign_transfer y where y.chain = o.chain and y.wallet = p.wallet and y.to_address = o.address))
      and may_be_paid_by_foreign(o.order_pk) as may_be_paid,
  exists (select from deposit_address d where d.family = o.family and d.address = o.address)
    or exists (select from hot_wallet w where w.family = o.family and w.address = o.address) as pays_ourselves,
  (select coalesce(jsonb_agg(jsonb_build_object('approver', a.approver, 'signature', encode(a.signature, 'hex'),
      'approvedAt', a.approved_at)), '[]')
    from payout_approval a where a.order_pk = o.order_pk and a.approver = any(${approvers}::text[])) as approvals`;

function judgedFacts(row: JudgedRow, key: WalletKey): JudgedPayout {
  return {
    ...payoutFacts(row, key),
    isReserved: row.is_reserved,
    mayBePaid: row.may_be_paid,
    paysOwnAddress: row.pays_ourselves,
    isOverdue: row.is_overdue,
    approvals: row.approvals.map(({ approver, signature, approvedAt }) => ({
      approver,
      signature: Buffer.from(signature, 'hex'),
      approvedAt: new Date(approvedAt),
    })),
  };
}

interface RequestedRow extends JudgedRow {
  readonly waiting_since: Date | null;
  readonly obstacle_at: Date | null;
  readonly kind: 'FRESH' | 'STUCK' | 'APPROVED' | 'WAITED';
}

/** An approval may commit later than its time, so it is read again for this long after a payout was judged. */
const APPROVAL_GRACE = sql`interval '15 seconds'`;

/** New payouts; a page of blocked ones; waiting ones with a new approval, latest first, or past the approval time. */
export async function readRequested(
  db: Db,
  key: WalletKey,
  { requested: limit, after, everyWaiting, approvers, approvalWaitMs }: ViewOptions,
): Promise<{ readonly requested: readonly RequestedPayout[]; readonly pageEnd: string | null }> {
  const ofThis = sql`p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state = 'REQUESTED'`;
  const inTime = sql`(p.waiting_since is not null or p.expires_at > now() or p.obstacle = 'CHAIN_AHEAD')`;
  const behind =
    after === undefined
      ? sql`true`
      : sql`(p.requested_at, p.order_pk) > (select a.requested_at, a.order_pk from payout a where a.order_pk = ${after}::uuid)`;
  const stuck: RawBuilder<unknown> = everyWaiting
    ? sql`p.obstacle is not null`
    : sql`p.obstacle is not null and (p.obstacle <> 'NEEDS_APPROVAL' or p.obstacle_at is null)`;
  const { rows } = await sql<RequestedRow>`
    with page as (
      (select p.order_pk, 'FRESH' as kind from payout p where ${ofThis} and p.obstacle is null and ${inTime}
        order by p.requested_at, p.order_pk limit ${limit})
      union all
      (select p.order_pk, 'STUCK' from payout p where ${ofThis} and ${stuck} and ${inTime} and ${behind}
        order by p.requested_at, p.order_pk limit ${limit})
      union all
      (select p.order_pk, 'APPROVED' from payout_approval a join payout p using (order_pk)
        where a.approver = any(${approvers}::text[])
          and a.approved_at > now() - interval '1 day' and ${ofThis} and p.obstacle = 'NEEDS_APPROVAL'
          and (a.approved_at >= p.obstacle_at or p.obstacle_at > now() - ${APPROVAL_GRACE})
        group by p.order_pk order by max(a.approved_at) desc, p.order_pk limit ${limit})
      union all
      (select p.order_pk, 'WAITED' from payout p where ${ofThis} and p.obstacle = 'NEEDS_APPROVAL'
          and p.waiting_since <= now() - ${approvalWaitMs} * interval '1 millisecond'
        order by p.waiting_since limit ${limit})
    )
    select ${judgedColumns(approvers)}, p.waiting_since, p.obstacle_at, page.kind
    from page join payout p using (order_pk) join orders o using (order_pk) left join movement m using (order_pk)
    where o.order_type = 'PAYOUT' and o.chain = p.chain and o.source_address = p.wallet
    order by p.requested_at, p.order_pk`.execute(db);
  const page = rows.filter(({ kind }) => kind === 'STUCK');
  const seen = new Set<string>();
  const once = rows.filter(({ order_pk }) => !seen.has(order_pk) && seen.add(order_pk));
  return {
    requested: once.map((row) => ({
      ...judgedFacts(row, key),
      waitingSince: row.waiting_since,
      obstacleAt: row.obstacle_at,
    })),
    pageEnd: page.length < limit ? null : (page.at(-1)?.order_pk ?? null),
  };
}

interface UnsignedRow extends JudgedRow {
  readonly is_signed_before: boolean;
  readonly attempts: number;
  readonly is_decided_again: boolean;
}

/** Untried payouts, oldest first; then the others, by the time of the last try. */
export async function readUnsigned(
  db: Db,
  key: WalletKey,
  { unsigned: limit, approvers }: ViewOptions,
): Promise<readonly UnsignedPayout[]> {
  const { rows } = await sql<UnsignedRow>`
    with taken as materialized (
      select distinct n.order_pk from wallet_nonce n
      where ${ofWallet(key)} and n.state = 'TAKEN' and n.order_pk is not null
    ), unsigned as (
      (select p.order_pk, false as is_signed_before, p.requested_at, p.obstacle_at from payout p
        where p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state = 'AUTHORISED'
          and (p.expires_at > now() or p.obstacle in ('CHAIN_AHEAD', 'NEEDS_DECISION') or attempt_is_decided(p.order_pk))
        order by p.obstacle_at nulls first, p.requested_at, p.order_pk limit ${limit})
      union all
      (select p.order_pk, true, p.requested_at, p.obstacle_at from taken join payout p using (order_pk)
        where p.state = 'SIGNED' and ${hasNoOwnNonce} and ${isDecidedAgain})
    )
    select ${judgedColumns(approvers)}, u.is_signed_before,
      (select count(*)::int from payout_attempt a where a.order_pk = p.order_pk) as attempts,
      exists (select from payout_attempt a where a.order_pk = p.order_pk) and attempt_is_decided(p.order_pk) as is_decided_again
    from unsigned u join payout p using (order_pk) join orders o using (order_pk) left join movement m using (order_pk)
    where o.order_type = 'PAYOUT' and o.chain = ${key.chain} and o.source_address = ${key.wallet}
    order by u.obstacle_at nulls first, u.requested_at, u.order_pk limit ${limit}`.execute(db);
  return rows.map((row) => ({
    ...judgedFacts(row, key),
    isSignedBefore: row.is_signed_before,
    attempts: row.attempts,
    isDecidedAgain: row.is_decided_again,
    // A payout that waits for a decision, or has one, does not expire (expire_payouts).
    isOverdue:
      row.is_overdue && !row.is_signed_before && !row.is_decided_again && row.obstacle !== 'NEEDS_DECISION',
  }));
}

export async function readPaidBy(db: Db, key: WalletKey, limit: number): Promise<readonly PaidByDecision[]> {
  const { rows } = await sql<PayoutRow & { readonly decision_id: string; readonly tx_hash: TxHash }>`
    select ${PAYOUT_COLUMNS}, d.decision_id, d.tx_hash
    from payout_decision d join payout p using (order_pk) join orders o using (order_pk)
      left join movement m using (order_pk)
    where d.handled_at is null and d.decision = 'PAID_BY' and p.chain = ${key.chain} and p.wallet = ${key.wallet}
      and o.order_type = 'PAYOUT' and o.chain = p.chain and o.source_address = p.wallet
    order by d.decided_at, d.decision_id limit ${limit}`.execute(db);
  return rows.map((row) => ({
    decisionId: row.decision_id,
    txHash: row.tx_hash,
    payout: payoutFacts(row, key),
  }));
}

export async function readMoves(db: Db, orderPks: readonly string[]): Promise<ReadonlyMap<string, FeePayer>> {
  if (orderPks.length === 0) return new Map();
  const { rows } = await sql<
    Pick<
      PayoutRow,
      'order_pk' | 'contract_address' | 'decimals' | 'amount' | 'planned_cost' | 'paid_besides'
    > & { readonly kind: MovementKind }
  >`
    select m.order_pk, m.kind, o.contract_address, o.decimals, o.amount, ${PLANNED_COST}
    from movement m join orders o using (order_pk) where m.order_pk = any(${orderPks}::uuid[])`.execute(db);
  return new Map(
    rows.map((row) => [
      row.order_pk,
      {
        contract: row.contract_address,
        decimals: row.decimals,
        amountBaseUnits: baseUnits(row.amount),
        movement: {
          kind: row.kind,
          plannedCostBaseUnits: row.planned_cost,
          paidByOthersBaseUnits: row.paid_besides ?? 0n,
        },
      },
    ]),
  );
}
