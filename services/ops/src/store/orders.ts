import { sql } from 'kysely';
import type { OpsInput } from '@opentill/contracts/ops/catalog';
import type { Db } from '@opentill/db/database';
import { isSymbol } from './is-symbol.ts';
import { FAMILIES } from '@opentill/domain/chains';
import { EVERY_CHAIN } from './every-chain.ts';
import { dateOf, idsMadeIn } from '../page.ts';
import { spellings } from '../format.ts';

const SUMMARY = [
  'o.order_pk as orderPk',
  'o.merchant_id as merchantId',
  'o.order_id as orderId',
  'o.order_type as orderType',
  'o.uid',
  'o.status',
  'o.reason',
  'o.chain',
  'o.symbol',
  'o.contract_address as contractAddress',
  'o.decimals',
  'o.display_decimals as displayDecimals',
  'o.amount',
  'o.detected_amount as detectedAmount',
  'o.actual_amount as actualAmount',
  'o.choices',
  'o.link_id as linkId',
  'o.address',
  'o.source_address as sourceAddress',
  'o.created_at as createdAt',
  'o.expires_at as expiresAt',
  'o.updated_at as updatedAt',
] as const;

/** How the amount of an order with a price was computed; undefined for an order with an amount. */
export async function readPricing(db: Db, orderPk: string) {
  const { rows } = await sql<{
    currency: string;
    price: string;
    rate: string;
    markupBps: number;
    kind: 'PEG' | 'MARKET' | 'MANUAL';
    takenAt: Date;
    sources: { source: string; pair: string; value: string; at: string }[];
  }>`
    select o.currency, o.price, o.rate, o.markup_bps as "markupBps", r.kind, r.taken_at as "takenAt", r.sources
    from orders o join rate r on r.rate_id = o.rate_id where o.order_pk = ${orderPk}`.execute(db);
  return rows[0];
}

/** In the order that the customer sees. */
export async function readOptions(db: Db, orderPks: readonly string[]) {
  if (orderPks.length === 0) return [];
  return db
    .selectFrom('order_option as x')
    .leftJoin('deposit_address as a', (join) =>
      join.onRef('a.order_pk', '=', 'x.order_pk').onRef('a.family', '=', 'x.family'),
    )
    .select([
      'x.order_pk as orderPk',
      'x.chain',
      'x.symbol',
      'x.contract_address as contractAddress',
      'x.decimals',
      'x.display_decimals as displayDecimals',
      'x.amount',
      'x.rate',
      'x.confirmations_required as confirmationsRequired',
      'a.address',
      'x.chosen_at as chosenAt',
    ])
    .where('x.order_pk', 'in', orderPks)
    .orderBy('x.order_pk')
    .orderBy('x.place')
    .execute();
}

/** Newest first. Each exact key is looked up through its own index. */
export function selectOrders(
  db: Db,
  filter: OpsInput<'listOrders'>,
  after: string | undefined,
  limit: number,
) {
  const [from, until] = [dateOf(filter.from), dateOf(filter.until)];
  const ids = idsMadeIn(from, until);
  let query = db.selectFrom('orders as o').select(SUMMARY).orderBy('o.order_pk', 'desc').limit(limit);
  if (after !== undefined) query = query.where('o.order_pk', '<', after);
  if (filter.merchantId !== undefined) query = query.where('o.merchant_id', '=', filter.merchantId);
  if (filter.orderId !== undefined) {
    query = query.where(
      sql<boolean>`(o.merchant_id, o.order_id) in (select merchant_id, ${filter.orderId} from merchant)`,
    );
  }
  if (filter.status !== undefined) query = query.where('o.status', '=', filter.status);
  if (filter.orderType !== undefined) query = query.where('o.order_type', '=', filter.orderType);
  if (filter.linkId !== undefined) {
    query = query.where(
      sql<boolean>`(o.merchant_id, o.link_id) in (select merchant_id, ${filter.linkId} from merchant)`,
    );
  }
  if (filter.chain !== undefined || filter.symbol !== undefined) query = query.where(acceptsCoin(filter));
  if (from !== undefined) query = query.where('o.created_at', '>=', from);
  if (until !== undefined) query = query.where('o.created_at', '<', until);
  if (ids.from !== undefined) query = query.where('o.order_pk', '>=', ids.from);
  if (ids.until !== undefined) query = query.where('o.order_pk', '<', ids.until);
  if (filter.address !== undefined) query = query.where(matchesAddress(filter.address));
  if (filter.txid !== undefined) query = query.where(matchesTransaction(filter.txid));
  return query;
}

/** Also an order that the customer pays, or may pay, in another coin at present. */
function acceptsCoin(filter: Pick<OpsInput<'listOrders'>, 'chain' | 'symbol'>) {
  const [chain, symbol] = [filter.chain ?? null, filter.symbol ?? null];
  const isCoin = (of: string) =>
    sql`(${chain}::text is null or ${sql.ref(`${of}.chain`)} = ${chain})
      and (${symbol}::text is null or ${isSymbol(`${of}.symbol`, symbol ?? '')})`;
  return sql<boolean>`case when o.choices is null then ${isCoin('o')}
    else exists (select from order_option x where x.order_pk = o.order_pk and ${isCoin('x')}) end`;
}

export function findOrders(...page: Parameters<typeof selectOrders>) {
  return selectOrders(...page).execute();
}

function matchesAddress(address: string) {
  const words = spellings(address);
  return sql<boolean>`o.order_pk in (
    select order_pk from deposit_address where family = any(${[...FAMILIES]}) and address = any(${words})
    union all select order_pk from orders where order_type = 'PAYOUT' and address = any(${words}))`;
}

function matchesTransaction(txid: string) {
  const words = spellings(txid);
  return sql<boolean>`o.order_pk in (
    select d.order_pk from transfer t join deposit_address d on d.family = t.family and d.address = t.to_address
      where t.chain = any(${EVERY_CHAIN}) and t.tx_hash = any(${words})
    union all select order_pk from own_transaction
      where chain = any(${EVERY_CHAIN}) and tx_hash = any(${words}) and order_pk is not null)`;
}

export type OrderSummaryRow = Awaited<ReturnType<typeof findOrders>>[number];

export async function readOrder(db: Db, orderPk: string) {
  return db
    .selectFrom('orders as o')
    .select([
      ...SUMMARY,
      'o.accepted_amount as acceptedAmount',
      'o.confirmations_required as confirmationsRequired',
      'o.late_grace_seconds as lateGraceSeconds',
      'o.return_url as returnUrl',
      'o.description',
      'o.version',
      'o.family',
    ])
    .where('o.order_pk', '=', orderPk)
    .executeTakeFirst();
}

export async function readOrderForDecision(db: Db, orderPk: string) {
  return db
    .selectFrom('orders')
    .select(['order_type as orderType', 'status', 'family', 'order_id as orderId'])
    .where('order_pk', '=', orderPk)
    .executeTakeFirst();
}

const DECISION = [
  'decision_id as decisionId',
  'order_pk as orderPk',
  'decision',
  'reason',
  'operator',
  'decided_at as decidedAt',
  'handled_at as handledAt',
  'outcome',
] as const;

export async function decisionsOf(db: Db, orderPk: string) {
  return db
    .selectFrom('order_decision')
    .select(DECISION)
    .where('order_pk', '=', orderPk)
    .orderBy('decided_at')
    .limit(100)
    .execute();
}

export async function insertDecision(
  db: Db,
  decision: {
    decisionId: string;
    orderPk: string;
    decision: 'ACCEPT' | 'REFUSE';
    reason: string;
    operator: string;
    decidedAt: Date;
  },
) {
  return db
    .insertInto('order_decision')
    .values({
      decision_id: decision.decisionId,
      order_pk: decision.orderPk,
      decision: decision.decision,
      reason: decision.reason,
      operator: decision.operator,
      decided_at: decision.decidedAt,
    })
    .returning(DECISION)
    .executeTakeFirstOrThrow();
}
