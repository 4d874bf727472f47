import { sql, type RawBuilder } from 'kysely';
import { UNMATCHED_SHOWN, type TokenId } from '@opentill/contracts/format-unmatched';
import type { Tx } from '@opentill/db/database';
import { hasListedToken } from '@opentill/db/listed-tokens';
import type { Chain } from '@opentill/domain/chains';
import type { TransferState } from '@opentill/domain/confirmations';
import type { BaseUnits } from '@opentill/domain/money';
import type { TransferBooking, UnmatchedReason } from '@opentill/domain/settle-transfer';
import { later } from '../later-transfer.ts';
import type { LockedOrder, OrderFacts, TransferRow } from './order-rows.ts';

/** NONE: the order itself. NAMED: named by the selection. EVERY: all other transfers. Others: see OrderFacts. */
type Role = 'NONE' | 'NAMED' | 'ELSEWHERE' | 'REFUNDED' | 'NEWEST' | 'UNMATCHED' | 'EVERY';

interface FactRow {
  order_pk: string;
  verified_seconds: number | null;
  last_sequence: number | null;
  in_time: BaseUnits | null;
  verified_in_time: BaseUnits | null;
  verified_late: BaseUnits | null;
  shallow: BaseUnits | null;
  away: boolean;
  /** Null in rows with the role NONE; then all following columns except `role` are null too. */
  transfer_id: number | null;
  role: Role;
  chain: Chain;
  symbol: string;
  contract_address: string | null;
  tx_hash: string;
  from_address: string;
  to_address: string;
  amount: BaseUnits;
  network_fee: bigint | null;
  block_height: number;
  block_seconds: number;
  first_block_seconds: number;
  state: TransferState;
  version: number;
  went_elsewhere: boolean;
  seen_height: number | null;
  verified_height: number | null;
  refunded: boolean;
  accepted: boolean;
  updated_at: Date;
  settled_version: number | null;
  booked_amount: BaseUnits | null;
  booked_symbol: string | null;
  bookings: number | null;
  credited: boolean | null;
  unmatched_reason: UnmatchedReason | null;
  withdrawn: boolean | null;
  dust: boolean | null;
  reported: boolean | null;
}

export interface FactsSelection {
  readonly orders: readonly LockedOrder[];
  readonly transferIds: readonly (string | number)[];
  readonly verifiedDepths: ReadonlyMap<Chain, number>;
  readonly tokens: readonly TokenId[];
}

/** False if the transfer is still booked to a hot wallet (hot-wallet-deposits.ts), or settled for another order. */
const isHere = sql`coalesce(held.order_pk, d.order_pk) = d.order_pk and not (held.order_pk is null and coalesce(held.booked, false))`;
const isAskedFor = sql`t.chain = d.chain and t.contract_address is not distinct from d.contract_address`;
const isAtAddress = sql`t.family = d.family and t.to_address = d.address`;
const held = sql`left join transfer_settlement held on held.transfer_id = t.transfer_id`;

/** Among this many newest transfers, one is expected that is not settled for another order. */
const NEWEST_READ = 8;

/** The few transfers that any settlement needs, by index: named, moved by a reorganisation, refunded, newest. */
function candidates({ orders, tokens }: FactsSelection): RawBuilder<unknown> {
  const reporting = orders.filter(({ notifyUnmatched }) => notifyUnmatched).map(({ orderPk }) => orderPk);
  return sql`
    select d.place, d.order_pk, n.transfer_id, 'NAMED' as role, false as went_elsewhere
    from named n join asked d on d.order_pk = n.order_pk
    where coalesce(n.held_by, n.order_pk) = n.order_pk and not (n.held_by is null and n.is_booked)
    union all
    select d.place, d.order_pk, n.transfer_id, 'NAMED', true
    from named n join asked d on d.order_pk = n.held_by
    where n.order_pk is distinct from d.order_pk
    union all
    select d.place, d.order_pk, t.transfer_id, 'ELSEWHERE', false
    from coin d join relocated_transfer r on r.family = d.family and r.address = d.address
      join transfer t on t.transfer_id = r.transfer_id and ${isAtAddress} and ${isAskedFor} ${held}
    where not (${isHere})
    union all
    select d.place, d.order_pk, t.transfer_id, 'REFUNDED', false
    from coin d cross join lateral (
        select m.transfer_id from movement m where m.deposit_order_pk = d.order_pk
        union
        select m.transfer_id from relocated_transfer r join movement m on m.transfer_id = r.transfer_id
        where r.family = d.family and r.address = d.address
      ) b join transfer t on t.transfer_id = b.transfer_id and ${isAtAddress} and ${isAskedFor}
      join unmatched_deposit u on u.transfer_id = t.transfer_id and u.order_pk = d.order_pk ${held}
    where ${isHere} and exists (select from movement m where m.transfer_id = t.transfer_id and payout_may_move(m.order_pk))
    union all
    select d.place, d.order_pk, newest.transfer_id, 'NEWEST', false
    from coin d cross join lateral (
      select t.transfer_id from (
        -- Only indexed columns, so that Postgres uses the index; the other conditions exclude few rows.
        select * from transfer t where ${isAtAddress} and t.chain = d.chain and t.symbol = d.symbol and t.state <> 'ORPHANED'
        order by t.block_height desc, t.transfer_id desc limit ${sql.lit(NEWEST_READ)}
      ) t ${held}
      where ${isAskedFor} and ${isHere} and (d.status <> 'SUCCESS' or held.credited)
      order by t.block_height desc, t.transfer_id desc limit 1
    ) newest${reporting.length === 0 ? sql`` : unmatchedOf(reporting, tokens)}`;
}

/** The same as the api lists. */
function unmatchedOf(orderPks: readonly string[], tokens: readonly TokenId[]): RawBuilder<unknown> {
  return sql`
    union all
    select d.place, d.order_pk, listed.transfer_id, 'UNMATCHED', false
    from asked d cross join lateral (
      select u.transfer_id from unmatched_deposit u join transfer t using (transfer_id)
      where u.order_pk = d.order_pk and not u.withdrawn and not u.dust
        and ${hasListedToken('d', tokens)}
      order by u.transfer_id desc limit ${sql.lit(UNMATCHED_SHOWN)}
    ) listed
    where d.order_pk = any(${orderPks}::uuid[])`;
}

/**
 * A single statement, hence a single snapshot. The scanner commits cursor, transfers and sums together, so the verified
 * time read here covers all transfers up to it, and no paid order expires.
 */
function factsQuery(selection: FactsSelection, every: RawBuilder<unknown>): RawBuilder<FactRow> {
  const { orders, transferIds, verifiedDepths } = selection;
  const depths = sql`unnest(${[...verifiedDepths.keys()]}::text[], ${[...verifiedDepths.values()]}::int8[]) as n (chain, depth)`;
  const agreed = sql`least(coalesce(c.seen_height, 0), coalesce(c.verified_height, 0) + coalesce(n.depth, 1) - 1)`;
  return sql<FactRow>`
    with asked as materialized (
      select o.place, d.*, case when d.choices = 0 then extract(epoch from now())::float8
          when d.choices > 1 then (
            select min(coalesce(extract(epoch from v.verified_time), 0))::float8
            from order_option x left join chain_cursor v on v.chain = x.chain
            where x.order_pk = d.order_pk and x.chosen_at is not null)
          else extract(epoch from c.verified_time)::float8 end as verified_seconds,
        (select max(n.sequence) from notification n where n.subject_id = d.order_pk) as last_sequence,
        s.in_time, s.verified_in_time, s.verified_late,
        exists (select from collection_away a where a.order_pk = d.order_pk) as away,
        case when d.choices is null then (
          select sum(h.verified_in_time) from collection_height_sum h where h.order_pk = d.order_pk and h.place = 0
            and h.block_height > ${agreed} - d.confirmations_required + 1)
        else (
          select sum(h.verified_in_time)
          from order_option x join collection_height_sum h on h.order_pk = x.order_pk and h.place = x.place
            left join chain_cursor c on c.chain = x.chain left join ${depths} on n.chain = x.chain
          where x.order_pk = d.order_pk and h.block_height > ${agreed} - x.confirmations_required + 1)
        end as shallow
      from unnest(${orders.map((order) => order.orderPk)}::uuid[]) with ordinality as o (order_pk, place)
        join orders d on d.order_pk = o.order_pk left join chain_cursor c on c.chain = d.chain
        left join collection_sum s on s.order_pk = d.order_pk left join ${depths} on n.chain = d.chain
    ), coin as materialized (
      select place, order_pk, family, address, chain, symbol, contract_address, status from asked where choices is null
      union all
      select d.place, d.order_pk, x.family, a.address, x.chain, x.symbol, x.contract_address, d.status
      from asked d join order_option x on x.order_pk = d.order_pk
        join deposit_address a on a.order_pk = x.order_pk and a.family = x.family
      where d.choices is not null
    ), named as materialized (
      select t.transfer_id, t.to_address, a.order_pk, held.order_pk as held_by, coalesce(held.booked, false) as is_booked
      from transfer t left join deposit_address a on a.family = t.family and a.address = t.to_address ${held}
      where t.transfer_id = any(${transferIds}::bigint[])
    ), candidate as (
      select place, order_pk, null::int8 as transfer_id, 'NONE' as role, false as went_elsewhere from asked
      union all ${candidates(selection)} ${every}
    ), sorted as materialized (
      select * from candidate order by place, role = 'EVERY', transfer_id
    )
    select o.order_pk, o.verified_seconds, o.last_sequence, o.in_time, o.verified_in_time,
      o.verified_late, o.shallow, o.away, x.role,
      t.transfer_id, t.chain, t.symbol, t.contract_address, t.tx_hash, t.from_address, t.to_address, t.amount,
      t.network_fee, t.block_height, extract(epoch from t.block_time)::float8 as block_seconds,
      extract(epoch from t.first_block_time)::float8 as first_block_seconds, t.version, t.updated_at,
      x.went_elsewhere, case when x.went_elsewhere then 'ORPHANED' else t.state end as state,
      s.settled_version, s.booked_amount, s.booked_symbol, s.bookings, s.credited, u.reason as unmatched_reason, u.withdrawn, u.dust, u.reported,
      there.seen_height, there.verified_height,
      u.transfer_id is not null and exists (
        select from movement m where m.transfer_id = t.transfer_id and payout_may_move(m.order_pk)) as refunded,
      u.transfer_id is not null and exists (
        select from order_decision a where a.transfer_id = t.transfer_id and a.outcome = 'DONE'
          and a.transfer_symbol = t.symbol and a.transfer_amount = t.amount) as accepted
    from sorted x join asked o on o.order_pk = x.order_pk left join transfer t on t.transfer_id = x.transfer_id
      left join chain_cursor there on there.chain = t.chain
      left join transfer_settlement s on s.transfer_id = t.transfer_id
      left join unmatched_deposit u on u.transfer_id = t.transfer_id and u.order_pk = o.order_pk`;
}

/** Sums over all transfers, and the few single transfers needed, by order_pk. */
export async function loadFacts(tx: Tx, selection: FactsSelection): Promise<ReadonlyMap<string, OrderFacts>> {
  const { rows } = await factsQuery(selection, sql``).execute(tx);
  const facts = new Map<string, OrderFacts>();
  for (const [orderPk, of] of Map.groupBy(rows, (row) => row.order_pk)) {
    const [first] = of;
    if (first !== undefined) facts.set(orderPk, toFacts(first, of));
  }
  return facts;
}

/** Every order has at least one page. */
export interface FactsPage {
  readonly orderPk: string;
  /** Set on the order's first page. */
  readonly facts: OrderFacts | null;
  readonly others: readonly TransferRow[];
}

export const ROWS_AT_ONCE = 1_000;

/**
 * The same facts with all transfers, in the order of `orders`. A cursor keeps one snapshot over all pages with constant
 * memory.
 */
export async function* loadEveryTransfer(tx: Tx, selection: FactsSelection): AsyncGenerator<FactsPage> {
  const every = sql`
    union all
    select d.place, d.order_pk, t.transfer_id, 'EVERY', false
    from (select distinct place, order_pk, family, address from coin) d join transfer t on ${isAtAddress} ${held}
    where t.transfer_id <> all(${selection.transferIds}::bigint[]) and ${isHere}`;
  // Nested loops keep the order of `sorted` and read only what a page needs. `declare` fixes the plan.
  await sql`set local enable_hashjoin = off`.execute(tx);
  await sql`set local enable_mergejoin = off`.execute(tx);
  await sql`declare every_transfer no scroll cursor for ${factsQuery(selection, every)}`.execute(tx);
  await sql`set local enable_hashjoin = on`.execute(tx);
  await sql`set local enable_mergejoin = on`.execute(tx);
  let reading: OrderBeingRead | undefined;
  const begun = new Set<string>();
  for (;;) {
    const { rows } = await sql<FactRow>`fetch ${sql.lit(ROWS_AT_ONCE)} from every_transfer`.execute(tx);
    for (const row of rows) {
      if (reading?.order.order_pk !== row.order_pk) {
        if (reading !== undefined) yield* takePage(reading);
        reading = { order: row, first: [], isBegun: false, others: [] };
        if (begun.has(row.order_pk)) throw new RangeError(`rows of order ${row.order_pk} are not contiguous`);
        begun.add(row.order_pk);
      }
      if (row.role !== 'EVERY' && (reading.isBegun || reading.others.length > 0))
        throw new RangeError(`rows of order ${row.order_pk} are not contiguous`);
      if (row.role === 'EVERY') reading.others.push(...toTransfers(row));
      else reading.first.push(row);
    }
    const isLast = rows.length < ROWS_AT_ONCE;
    if (reading !== undefined && (isLast || reading.others.length > 0)) yield* takePage(reading);
    if (isLast) break;
  }
  await sql`close every_transfer`.execute(tx);
}

interface OrderBeingRead {
  readonly order: FactRow;
  /** Their roles are others than EVERY; they come first. */
  readonly first: FactRow[];
  isBegun: boolean;
  others: TransferRow[];
}

function* takePage(reading: OrderBeingRead): Generator<FactsPage> {
  const { order, first, isBegun, others } = reading;
  if (isBegun && others.length === 0) return;
  Object.assign(reading, { isBegun: true, others: [] });
  yield { orderPk: order.order_pk, facts: isBegun ? null : toFacts(order, first), others };
}

function toFacts(order: FactRow, rows: readonly FactRow[]): OrderFacts {
  const zero = 0n as BaseUnits;
  const of = (role: Role) => rows.filter((row) => row.role === role).flatMap(toTransfers);
  return {
    verifiedTimeSeconds: order.verified_seconds ?? 0,
    lastSequence: order.last_sequence ?? 0,
    counted: {
      inTime: order.in_time ?? zero,
      verifiedInTime: order.verified_in_time ?? zero,
      verifiedLate: order.verified_late ?? zero,
      shallow: order.shallow ?? zero,
      away: order.away ?? false,
    },
    transfers: of('NAMED'),
    elsewhere: of('ELSEWHERE'),
    refunded: of('REFUNDED'),
    unmatched: of('UNMATCHED'),
    newest: of('NEWEST').reduce<TransferRow | undefined>(later, undefined),
  };
}

function toTransfers(row: FactRow): TransferRow[] {
  return row.transfer_id === null ? [] : [toTransfer(row, row.transfer_id)];
}

function toTransfer(row: FactRow, transferId: number): TransferRow {
  return {
    transferId,
    chain: row.chain,
    symbol: row.symbol,
    contractAddress: row.contract_address,
    txHash: row.tx_hash,
    fromAddress: row.from_address,
    toAddress: row.to_address,
    amount: row.amount,
    networkFee: row.network_fee,
    blockHeight: row.block_height,
    blockTimeSeconds: row.block_seconds,
    firstBlockTimeSeconds: row.first_block_seconds,
    state: row.state,
    version: row.version,
    wentElsewhere: row.went_elsewhere,
    seenHeight: row.seen_height ?? 0,
    verifiedHeight: row.verified_height ?? 0,
    refunded: row.refunded,
    accepted: row.accepted,
    updatedAt: row.updated_at,
    settledVersion: row.settled_version,
    booking: bookingOf(row),
    unmatched:
      row.unmatched_reason === null
        ? null
        : {
            reason: row.unmatched_reason,
            withdrawn: row.withdrawn ?? false,
            dust: row.dust ?? false,
            reported: row.reported ?? false,
          },
  };
}

function bookingOf(row: FactRow): TransferBooking {
  const { booked_amount: amount, booked_symbol: symbol, bookings, credited } = row;
  const booked = amount === null || symbol === null ? null : { amount, symbol };
  return { booked, bookings: bookings ?? 0, credited: credited ?? false };
}
