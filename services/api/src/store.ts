import { sql } from 'kysely';
import type { OutboxEvent } from '@opentill/db/outbox';
import { readChainStatuses } from '@opentill/db/chain-status';
import { isDatabaseUnavailable, type Db } from '@opentill/db/database';
import { forgetEndedCounters, forgetExpiredNonces } from '@opentill/db/housekeeping';
import { listPresence } from '@opentill/db/presence';
import type { ServiceSchema } from '@opentill/db/service-schema';
import type { OrderStatus, OrderType } from '@opentill/contracts/notify-order';
import type { Chain, Family } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import { gatherCalls } from '@opentill/runtime/gather-calls';
import { watching } from './watch-orders.ts';

/** A merchant as it stands in the database. */
export interface MerchantRow {
  readonly merchantId: string;
  readonly version: 'V2' | 'V3';
  readonly signVersion: 1 | 2;
  readonly tokenSealed: Buffer;
  readonly returnOrigins: readonly string[];
  readonly orderTtlSeconds: number;
  readonly underpaymentToleranceBps: number;
  readonly lateGraceSeconds: number;
  readonly rateLimits: unknown;
  readonly enabled: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Now, at the database. */
  readonly readAt: Date;
}

/** An order to be created. Amounts in base units, addresses canonical. */
export interface NewOrder {
  readonly orderPk: string;
  readonly merchantId: string;
  readonly orderId: string;
  readonly orderType: OrderType;
  readonly uid: string | null;
  readonly chain: Chain;
  readonly family: Family;
  readonly symbol: string;
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  readonly amount: BaseUnits;
  readonly acceptedAmount: bigint;
  readonly address: string;
  readonly sourceAddress: string | null;
  readonly confirmationsRequired: number | null;
  readonly lateGraceSeconds: number;
  readonly returnUrl: string | null;
  readonly description: string | null;
  /** Lower-case hex. */
  readonly signedDataHash: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** An order to be created with what is told of it at first. */
export interface Creation {
  readonly order: NewOrder;
  readonly nonce: SpentNonce;
  readonly notificationId: string;
  readonly notificationData: string;
  readonly events: readonly OutboxEvent[];
}

/** The request that is spent with the effect it has. */
export interface SpentNonce {
  readonly merchantId: string;
  readonly nonce: string;
  readonly expiresAt: Date;
}

/** An order as first created: what an equal request is compared with, and what it is answered. */
export interface CreatedOrder {
  readonly orderId: string;
  readonly orderType: OrderType;
  readonly uid: string | null;
  readonly chain: Chain;
  readonly family: Family;
  readonly symbol: string;
  readonly decimals: number;
  readonly displayDecimals: number;
  readonly amount: bigint;
  readonly address: string;
  readonly sourceAddress: string | null;
  readonly expiresAt: Date;
}

export type CollectionOutcome =
  | { readonly outcome: 'CREATED' | 'NONCE_USED' }
  | { readonly outcome: 'EXISTS'; readonly existing: CreatedOrder };
export type PayoutOutcome =
  | { readonly outcome: 'CREATED' | 'NONCE_USED' | 'INSUFFICIENT' }
  | { readonly outcome: 'EXISTS' | 'DUPLICATE'; readonly existing: CreatedOrder };

/** An order with its latest transfer, of a payout the transaction that decides, and the height of its chain's head. */
export interface OrderRow extends CreatedOrder {
  readonly status: OrderStatus;
  readonly reason: string | null;
  readonly contractAddress: string | null;
  readonly detectedAmount: bigint;
  readonly actualAmount: bigint | null;
  readonly confirmationsRequired: number | null;
  readonly returnUrl: string | null;
  readonly description: string | null;
  readonly headHeight: number | null;
  readonly txHash: string | null;
  readonly fromAddress: string | null;
  readonly toAddress: string | null;
  readonly transferAmount: BaseUnits | null;
  readonly networkFee: bigint | null;
  readonly blockHeight: number | null;
  readonly blockTime: Date | null;
  /** Null of a payout, of which the next three say what became of its transaction. */
  readonly transferState: 'DETECTED' | 'VERIFIED' | null;
  readonly fateState: 'MINED' | 'VERIFIED' | null;
  readonly succeeded: boolean | null;
  readonly delivered: BaseUnits | null;
}

export type Store = ReturnType<typeof createStore>;

const createdColumns = (row: string) =>
  sql.raw(
    [
      ['order_id', 'orderId'],
      ['order_type', 'orderType'],
      ['uid', 'uid'],
      ['chain', 'chain'],
      ['family', 'family'],
      ['symbol', 'symbol'],
      ['decimals', 'decimals'],
      ['display_decimals', 'displayDecimals'],
      ['amount', 'amount'],
      ['address', 'address'],
      ['source_address', 'sourceAddress'],
      ['expires_at', 'expiresAt'],
    ]
      .map(([column, name]) => `${row}.${column} as "${name}"`)
      .join(', '),
  );
const FUNCTION_COLUMNS = createdColumns('(r.existing)');
const ORDER_COLUMNS = createdColumns('o');

/** All SQL of the api. */
export function createStore(db: Db) {
  return { ...creations(db), ...orderReads(db), ...watching(db), ...upkeep(db) };
}

type NewCollection = Creation & { readonly derivationIndex: number };

/** Calls to create_collections under way at a time, and the most collections in one. */
const CREATIONS_AT_ONCE = 3;
const CREATIONS_PER_CALL = 32;

/** Creates collections in one round trip and one transaction; the outcomes come in the order of the inputs. */
async function createCollections(db: Db, inputs: readonly NewCollection[]): Promise<CollectionOutcome[]> {
  const sorted = inputs
    .map((input, place) => ({ input, place }))
    .sort((a, b) => (lockKey(a.input) < lockKey(b.input) ? -1 : 1));
  const p = JSON.stringify(
    sorted.map(({ input }) => ({ ...creation(input), derivationIndex: input.derivationIndex })),
  );
  const { rows } = await sql<CollectionOutcome & CreatedOrder>`
    select r.outcome, ${FUNCTION_COLUMNS} from create_collections(${p}) r`.execute(db);
  const outcomes: CollectionOutcome[] = [];
  sorted.forEach(({ place }, i) => (outcomes[place] = withExisting(rows[i])));
  return outcomes;
}

function lockKey({ order }: NewCollection): string {
  return `${order.merchantId} ${order.orderId}`;
}

/** What creates orders or refuses to. */
function creations(db: Db) {
  return {
    /** Spends the nonce and creates the collection with its address, first notification and events, or nothing of it. */
    createCollection: gatherCalls<NewCollection, CollectionOutcome>({
      runTogether: (inputs) => createCollections(db, inputs),
      failedWhole: (error) => !isDatabaseUnavailable(error),
      runsAtOnce: CREATIONS_AT_ONCE,
      inputsPerRun: CREATIONS_PER_CALL,
    }),

    /** Spends the nonce, stores the payout, reserves its amount and tells of it, or only spends the nonce. */
    async createPayout(input: Creation): Promise<PayoutOutcome> {
      const p = JSON.stringify(creation(input));
      const { rows } = await sql<PayoutOutcome & CreatedOrder>`
        select r.outcome, ${FUNCTION_COLUMNS} from create_payout(${p}) r`.execute(db);
      return withExisting(rows[0]);
    },

    /** False: the nonce was used before. */
    async spendNonce({ merchantId, nonce, expiresAt }: SpentNonce): Promise<boolean> {
      const { rows } = await sql<{ spent: boolean }>`
        select spend_nonce(${merchantId}, ${nonce}, ${expiresAt}) as spent`.execute(db);
      return rows[0]?.spent === true;
    },

    /** The order of this id, or else the payout of this signed data; and whether the nonce was used before. */
    async findCreated(key: {
      readonly merchantId: string;
      readonly orderId: string | null;
      readonly signedDataHash: string | null;
      readonly nonce: string;
    }): Promise<{ readonly nonceUsed: boolean; readonly existing: CreatedOrder | undefined }> {
      const { rows } = await sql<
        { nonceUsed: boolean } & { [K in keyof CreatedOrder]: CreatedOrder[K] | null }
      >`
        select n.used as "nonceUsed", ${ORDER_COLUMNS}
        from (select exists (
          select from request_nonce where merchant_id = ${key.merchantId} and nonce = ${key.nonce}) as used) n
        left join orders o on o.merchant_id = ${key.merchantId}
          and (o.order_id = ${key.orderId} or o.signed_data_hash = decode(${key.signedDataHash}, 'hex'))
        limit 1`.execute(db);
      const row = rows[0];
      return {
        nonceUsed: row?.nonceUsed === true,
        existing: row === undefined || row.orderId === null ? undefined : (row as CreatedOrder),
      };
    },

    /** Whether the address is the deposit address of some order. */
    async isDepositAddress(family: Family, address: string): Promise<boolean> {
      const { rows } = await sql`
        select from deposit_address where family = ${family} and address = ${address}`.execute(db);
      return rows.length > 0;
    },
  };
}

/** What answers about orders. */
function orderReads(db: Db) {
  return {
    async findOrder(merchantId: string, orderId: string): Promise<OrderRow | undefined> {
      const { rows } = await sql<OrderRow>`
        select ${ORDER_COLUMNS}, o.status, o.reason, o.contract_address as "contractAddress",
          o.detected_amount as "detectedAmount", o.actual_amount as "actualAmount",
          o.confirmations_required as "confirmationsRequired", o.return_url as "returnUrl", o.description,
          c.head_height as "headHeight", coalesce(t.tx_hash, p.tx_hash) as "txHash",
          coalesce(t.from_address, p.wallet) as "fromAddress", coalesce(t.to_address, p.to_address) as "toAddress",
          coalesce(t.amount, p.amount) as "transferAmount", coalesce(t.network_fee, p.network_fee) as "networkFee",
          coalesce(t.block_height, p.block_height) as "blockHeight", coalesce(t.block_time, p.block_time) as "blockTime",
          t.state as "transferState", p.state as "fateState", p.succeeded, p.delivered
        from orders o
        left join chain_cursor c on c.chain = o.chain
        left join lateral (
          select * from transfer
          where family = o.family and to_address = o.address and chain = o.chain
            and contract_address is not distinct from o.contract_address
            and state <> 'ORPHANED' and o.order_type = 'COLLECTION'
            -- After SUCCESS what made it, as its callback shows.
            and (o.status <> 'SUCCESS' or exists (
              select from transfer_settlement s where s.transfer_id = transfer.transfer_id and s.credited))
          order by block_height desc, transfer_id desc limit 1
        ) t on true
        left join lateral (
          select x.wallet, x.to_address, x.amount, f.*
          from own_transaction x join own_transaction_fate f on f.chain = x.chain and f.tx_hash = x.tx_hash
          where x.order_pk = o.order_pk and o.order_type = 'PAYOUT' and f.state <> 'ORPHANED'
          -- As its callbacks choose: what landed, what may land, what failed.
          order by f.state = 'VERIFIED' and f.succeeded and f.delivered > 0 desc, f.state = 'MINED' desc, f.block_height desc
          limit 1
        ) p on true
        where o.merchant_id = ${merchantId} and o.order_id = ${orderId}`.execute(db);
      return rows[0];
    },

    async findStatus(merchantId: string, orderId: string): Promise<OrderStatus | undefined> {
      const { rows } = await sql<{ status: OrderStatus }>`
        select status from orders where merchant_id = ${merchantId} and order_id = ${orderId}`.execute(db);
      return rows[0]?.status;
    },
  };
}

/** What the api needs besides orders. */
function upkeep(db: Db) {
  return {
    /** Merchants changed since then, or all. */
    async readMerchants(since: Date | undefined): Promise<readonly MerchantRow[]> {
      const { rows } = await sql<MerchantRow>`
        select merchant_id as "merchantId", version, sign_version as "signVersion", token_sealed as "tokenSealed",
          return_origins as "returnOrigins", order_ttl_seconds as "orderTtlSeconds",
          underpayment_tolerance_bps as "underpaymentToleranceBps", late_grace_seconds as "lateGraceSeconds",
          rate_limits as "rateLimits", enabled, created_at as "createdAt", updated_at as "updatedAt", now() as "readAt"
        from merchant where updated_at >= coalesce(${since ?? null}::timestamptz, '-infinity')`.execute(db);
      return rows;
    },

    /** Reserves indices for this process alone; a sequence never gives one twice, also when this rolls back. */
    async reserveDepositIndexes(family: Family, count: number): Promise<readonly number[]> {
      const sequence = `deposit_index_${family.toLowerCase()}`;
      const { rows } = await sql<{ index: number }>`
        select nextval(${sequence}::regclass) as index from generate_series(1, ${count}::int)`.execute(db);
      return rows.map((row) => row.index);
    },

    /** The chains whose scanner has committed a cursor, with the seconds since it last did. */
    async readCursorAges(): Promise<ReadonlyMap<string, number>> {
      const { rows } = await sql<{ chain: string; age: number }>`
        select chain, extract(epoch from now() - updated_at)::float8 as age from chain_cursor`.execute(db);
      return new Map(rows.map((row) => [row.chain, row.age]));
    },

    /** The states of chains, as services report them. */
    readChainStatuses: () => readChainStatuses(db),

    /** Whether payouts may be reserved from this address. */
    async isHotWallet(family: Family, address: string): Promise<boolean> {
      const { rows } = await sql`
        select from hot_wallet where family = ${family} and address = ${address}`.execute(db);
      return rows.length > 0;
    },

    listPresence(schema: ServiceSchema): Promise<readonly string[]> {
      return listPresence(db, schema);
    },

    /** Forgets nonces no request can use any more and ended counters, a batch each; 'again' when more may be left. */
    async forgetSpent(batch = 10_000): Promise<void | 'again'> {
      const forgotten = [await forgetExpiredNonces(db, batch), await forgetEndedCounters(db, batch)];
      return forgotten.includes(batch) ? 'again' : undefined;
    },
  };
}

/** What create_collections and create_payout have in common; base units as decimal text. */
function creation({ order, nonce, events, notificationId, notificationData }: Creation) {
  return {
    notificationId,
    notificationData,
    nonce: nonce.nonce,
    nonceExpiresAt: nonce.expiresAt,
    order: { ...order, amount: String(order.amount), acceptedAmount: String(order.acceptedAmount) },
    events: events.map(({ envelope, routingKey }) => ({
      eventId: envelope.id,
      routingKey,
      payload: JSON.stringify(envelope),
    })),
  };
}

function withExisting<Outcome extends { readonly outcome: string }>(
  row: (Outcome & CreatedOrder) | undefined,
): Outcome & { readonly existing: CreatedOrder } {
  if (row === undefined) throw new Error('the function answered nothing');
  const { outcome, ...existing } = row;
  return { outcome, existing } as unknown as Outcome & { readonly existing: CreatedOrder };
}
