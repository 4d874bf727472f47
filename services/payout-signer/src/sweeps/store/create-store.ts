import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { Db, Tx } from '@opentill/db/database';
import { assertLease, type Lease } from '@opentill/db/lease';
import type { PayoutMoney } from '@opentill/db/payout-tables';
import type { MovementKind, SweepMethod } from '@opentill/db/sweep-tables';
import { familyOf, type Chain } from '@opentill/domain/chains';
import { baseUnits } from '@opentill/domain/money';
import { paidForSweep } from '../../store/paid-for-sweep.ts';
import { suspendedMethods } from './suspended-methods.ts';
import { rentedLastDay, spentLastDay, toppedUpLastDay } from './spent-last-day.ts';
import {
  SELLER_REFUSED,
  type DepositPage,
  type DepositPosition,
  type NewMovement,
  type NewSweep,
  type OpenSweep,
  type SweepBooks,
} from './sweep-facts.ts';
import type { SweepStore } from './sweep-store.ts';

const DEPOSITS_MAX = 500;
/** A later top-up is not worth waiting for. */
const TOP_UP_SECONDS = 3_600;
/** Pause of a sweep that the chain rejects or that costs too much. Then it is planned again. */
const SWEEP_SECONDS = 3_600;

export interface SweepStoreDeps {
  readonly newId: () => string;
  readonly nativeSymbol: string;
  /** See dataFeeCapOf. @default 0 */
  readonly dataFeeCap?: bigint;
}

export function createSweepStore(db: Db, chain: Chain, deps: SweepStoreDeps): SweepStore {
  const under = <T>(lease: Lease, work: (tx: Tx) => Promise<T>): Promise<T> =>
    db.transaction().execute(async (tx) => {
      await assertLease(tx, 'signer', lease);
      return work(tx);
    });
  return {
    readView: (after) => readView(db, chain, deps, after),
    begin: (lease, sweep) => under(lease, (tx) => begin(tx, chain, lease, deps, sweep)),
    move: (lease, movement) =>
      under(lease, async (tx) => {
        const { sweepId, endsFor } = movement;
        if (endsFor !== undefined)
          await sql`update sweep set reason = ${endsFor}, version = version + 1, updated_at = now()
            where sweep_id = ${sweepId} and state = 'OPEN'`.execute(tx);
        return plan(tx, chain, deps, movement);
      }),
    end: (lease, sweepId, state, reason) =>
      under(lease, async (tx) => {
        await sql`update sweep set state = ${state}, reason = ${reason}, ended_at = now(), version = version + 1,
          updated_at = now(), fencing_token = ${lease.fencingToken} where sweep_id = ${sweepId} and state = 'OPEN'`.execute(
          tx,
        );
      }),
    orderEnergy: (lease, sweepId, price, maxPerDay) =>
      under(lease, async (tx) => {
        const { rows } = await sql`update sweep s set rent_cost = ${price}, rent_ordered_at = now(),
            version = version + 1, updated_at = now(), fencing_token = ${lease.fencingToken}
          where s.sweep_id = ${sweepId} and s.state = 'OPEN' and s.method = 'RENT' and s.rent_cost is null
            and ${rentedLastDay(chain)} + ${price} <= ${maxPerDay} returning s.sweep_id`.execute(tx);
        return rows.length === 1;
      }),
    energyOrdered: (lease, sweepId, ref) =>
      under(lease, async (tx) => {
        await sql`update sweep set rent_ref = ${ref}, version = version + 1, updated_at = now()
          where sweep_id = ${sweepId} and rent_ref is null`.execute(tx);
      }),
    energyRefused: (lease, sweepId) =>
      under(lease, async (tx) => {
        await sql`update sweep set rent_cost = 0, state = 'ABANDONED', reason = ${SELLER_REFUSED}, ended_at = now(),
            version = version + 1, updated_at = now(), fencing_token = ${lease.fencingToken}
          where sweep_id = ${sweepId} and state = 'OPEN' and rent_ref is null`.execute(tx);
      }),
    savePlan: (lease, given) =>
      under(lease, async (tx) => {
        await sql`insert into sweep_plan (chain, plan) values (${chain}, ${JSON.stringify(given)}::jsonb)
          on conflict (chain) do update set plan = excluded.plan, planned_at = now()`.execute(tx);
      }),
    handled: (lease, requests, planned) =>
      under(lease, async (tx) => {
        await sql`update sweep_request set handled_at = now(), planned = ${planned}
          where request_id = any(${requests}::int8[]) and handled_at is null`.execute(tx);
      }),
  };
}

async function readView(
  db: Db,
  chain: Chain,
  { nativeSymbol, dataFeeCap = 0n }: SweepStoreDeps,
  after: DepositPosition | undefined,
): Promise<SweepBooks> {
  const open = await readOpen(db, chain);
  const page = await readDeposits(db, chain, after);
  const { rows } = await sql<SummaryRow>`
    select now() as now,
      (select coalesce(jsonb_object_agg(a.symbol, (a.balance + coalesce(c.coming, 0))::text), '{}') from ledger_account a
        left join (select s.symbol, sum(s.amount) as coming from sweep s
          where s.chain = ${chain} and s.state = 'OPEN' and s.destination_kind = 'HOT' group by s.symbol) c using (symbol)
        where a.kind = 'HOT_AVAILABLE' and a.chain = ${chain} and a.merchant_id is null) as hot,
      array(select distinct o.symbol from movement m join orders o using (order_pk)
        where m.kind = 'TO_COLD' and o.chain = ${chain} and o.status in ('INIT', 'PENDING', 'PENDING_CONFIRMATION')) as going_cold,
      ${spentLastDay(chain, nativeSymbol, dataFeeCap)} as spent,
      (select coalesce(sum(o.amount), 0) from sweep s join movement m using (sweep_id) join orders o using (order_pk)
        join payout p using (order_pk)
        where s.chain = ${chain} and s.state = 'OPEN' and m.kind = 'GAS_TOP_UP' and p.money in ('RESERVED', 'IN_FLIGHT')) as topping_up,
      ${toppedUpLastDay(chain)} as topped_up,
      ${rentedLastDay(chain)} as rented, ${suspendedMethods(chain)} as suspended_methods,
      array(select h.symbol from asset_hold h where h.chain = ${chain} and h.released_at is null) as held,
      exists (select from sweep_pause where chain = ${chain}) as paused,
      exists (select from wallet_halt where chain = ${chain} and wallet is null and released_at is null)
        or exists (select from chain_status where chain = ${chain} and state in ('HALTED', 'LEFT_OUT')) as halted,
      array(select h.wallet from wallet_halt h where h.chain = ${chain} and h.wallet is not null and h.released_at is null) as halted_wallets,
      array(select r.request_id from sweep_request r where r.chain = ${chain} and r.handled_at is null) as requests,
      (select max(r.requested_at) from sweep_request r where r.chain = ${chain} and r.handled_at is null) as requested_at`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) throw new TypeError('the sweep summary query returned no row');
  return {
    now: row.now,
    open,
    page,
    hot: new Map(Object.entries(row.hot).map(([symbol, amount]) => [symbol, BigInt(amount)])),
    goingCold: new Set(row.going_cold),
    spentLastDay: BigInt(row.spent),
    toppingUp: BigInt(row.topping_up),
    toppedUpLastDay: BigInt(row.topped_up),
    rentedLastDay: BigInt(row.rented),
    suspendedMethods: new Set(row.suspended_methods),
    heldSymbols: new Set(row.held),
    stopReason: row.paused ? 'PAUSED' : row.halted ? 'CHAIN_HALTED' : undefined,
    isHalted: row.halted,
    haltedWallets: new Set(row.halted_wallets),
    requests: row.requests.map(Number),
    requestedAt: row.requested_at,
  };
}

interface SummaryRow {
  now: Date;
  hot: Record<string, string>;
  going_cold: string[];
  spent: bigint;
  topping_up: bigint;
  topped_up: bigint;
  rented: bigint;
  suspended_methods: SweepMethod[];
  held: string[];
  paused: boolean;
  halted: boolean;
  halted_wallets: Address[];
  requests: (number | string)[];
  requested_at: Date | null;
}

interface OpenRow {
  sweep_id: string;
  address: Address;
  derivation_index: number;
  symbol: string;
  contract_address: TokenContract | null;
  amount: bigint;
  destination: Address;
  destination_kind: 'COLD' | 'HOT';
  method: SweepMethod;
  cost_estimate: bigint;
  paid: bigint;
  planned_at: Date;
  reason: string | null;
  ordered_at: Date | null;
  moves: {
    kind: MovementKind;
    money: PayoutMoney;
    amount: string;
    unsigned: boolean;
    ended: boolean;
    at: string;
  }[];
}

async function readOpen(db: Db, chain: Chain): Promise<readonly OpenSweep[]> {
  const { rows } = await sql<OpenRow>`
    select s.sweep_id, s.address, d.derivation_index, s.symbol, s.contract_address, s.amount, s.destination, s.destination_kind,
      s.method, s.cost_estimate, ${paidForSweep()} as paid, s.planned_at, s.reason, s.rent_ordered_at as ordered_at,
      coalesce(v.moves, '[]') as moves
    from sweep s join deposit_address d on d.family = s.family and d.address = s.address
      left join lateral (
        select jsonb_agg(jsonb_build_object('kind', m.kind, 'money', p.money, 'amount', o.amount::text, 'at', p.updated_at,
          'unsigned', p.state in ('REQUESTED', 'AUTHORISED'), 'ended', not payout_may_move(m.order_pk)) order by m.created_at, m.order_pk) as moves
        from movement m join payout p using (order_pk) join orders o using (order_pk) where m.sweep_id = s.sweep_id) v on true
    where s.chain = ${chain} and s.state = 'OPEN' order by s.planned_at, s.sweep_id`.execute(db);
  return rows.map((row) => ({
    sweepId: row.sweep_id,
    address: row.address,
    depositIndex: row.derivation_index,
    symbol: row.symbol,
    contract: row.contract_address,
    amountBaseUnits: baseUnits(row.amount),
    destination: row.destination,
    destinationKind: row.destination_kind,
    method: row.method,
    costBaseUnits: row.cost_estimate,
    paidBaseUnits: BigInt(row.paid),
    plannedAt: row.planned_at,
    reason: row.reason,
    moves: row.moves.map(({ kind, money, amount, unsigned, ended, at }) => ({
      kind,
      money,
      amountBaseUnits: BigInt(amount),
      isUnsigned: unsigned,
      hasEndedUnpaid: ended,
      endedAt: ended ? new Date(at) : null,
      changedAt: new Date(at),
    })),
    orderedAt: row.ordered_at,
  }));
}

interface UnsweptRow {
  address: Address;
  derivation_index: number;
  symbol: string;
  contract_address: TokenContract | null;
  free: bigint;
  since: Date;
  since_text: string;
}

async function readDeposits(db: Db, chain: Chain, after: DepositPosition | undefined): Promise<DepositPage> {
  const behind =
    after === undefined
      ? sql``
      : sql`and (b.since, b.address, b.symbol) > (${after.since}::timestamptz, ${after.address}, ${after.symbol})`;
  const { rows } = await sql<UnsweptRow>`
    select b.address, d.derivation_index, b.symbol, b.contract_address, b.received - b.swept - b.reserved as free, b.since, b.since::text as since_text
    from deposit_balance b join deposit_address d on d.family = b.family and d.address = b.address
    where b.chain = ${chain} and b.received > b.swept + b.reserved
      and not exists (select from sweep s where s.chain = b.chain and s.address = b.address and s.state = 'OPEN')
      ${behind}
    order by b.since, b.address, b.symbol limit ${DEPOSITS_MAX}`.execute(db);
  const deposits = rows.map((row) => ({
    address: row.address,
    depositIndex: row.derivation_index,
    symbol: row.symbol,
    contract: row.contract_address,
    amountBaseUnits: baseUnits(row.free),
    since: row.since,
    position: { since: row.since_text, address: row.address, symbol: row.symbol },
  }));
  return { deposits, isLast: deposits.length < DEPOSITS_MAX };
}

async function begin(
  tx: Tx,
  chain: Chain,
  lease: Lease,
  deps: SweepStoreDeps,
  sweep: NewSweep,
): Promise<boolean> {
  const sweepId = deps.newId();
  const { rows } = await sql`
    insert into sweep (sweep_id, chain, family, address, symbol, contract_address, amount, destination, destination_kind, method,
        cost_estimate, fencing_token)
      select ${sweepId}, ${chain}, ${familyOf(chain)}, ${sweep.address}, ${sweep.symbol}, ${sweep.contract}, ${sweep.amountBaseUnits},
        ${sweep.destination}, ${sweep.destinationKind}, ${sweep.method}, ${sweep.costBaseUnits}, ${lease.fencingToken}
      where exists (select from deposit_balance b where b.chain = ${chain} and b.address = ${sweep.address}
        and b.symbol = ${sweep.symbol} and b.received - b.swept - b.reserved >= ${sweep.amountBaseUnits})
    on conflict do nothing returning sweep_id`.execute(tx);
  if (rows.length === 0) return false;
  // The sweep is stored even if its first movement could not begin. The next round continues it.
  if (sweep.first !== undefined) await plan(tx, chain, deps, { ...sweep.first, sweepId });
  return true;
}

async function plan(tx: Tx, chain: Chain, deps: SweepStoreDeps, movement: NewMovement): Promise<boolean> {
  const { rows } = await sql<{ began: boolean }>`
    select plan_movement(${JSON.stringify({
      orderPk: deps.newId(),
      chain,
      kind: movement.kind,
      sweepId: movement.sweepId,
      symbol: movement.symbol,
      contract: movement.contract,
      decimals: movement.decimals,
      displayDecimals: movement.displayDecimals,
      amount: movement.amountBaseUnits.toString(),
      wallet: movement.wallet,
      receiver: movement.receiver,
      plannedCost: movement.plannedCost?.toString() ?? null,
      seconds: movement.seconds ?? (movement.kind === 'SWEEP' ? SWEEP_SECONDS : TOP_UP_SECONDS),
    })}::jsonb) as began`.execute(tx);
  return rows[0]?.began === true;
}
