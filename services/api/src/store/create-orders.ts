import { sql } from 'kysely';
import type { OrderStatus, OrderType } from '@opentill/contracts/notify-order';
import { isDatabaseUnavailable, type Db } from '@opentill/db/database';
import type { OutboxEvent } from '@opentill/db/outbox';
import type { Chain, Family } from '@opentill/domain/chains';
import { batchCalls } from '@opentill/runtime/batch-calls';

/** A new order with the column names of the view new_order. Amounts in base units, addresses canonical. */
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
  readonly amount: bigint;
  readonly acceptedAmount: bigint;
  /** Null until the customer chooses one of `options`. */
  readonly address: string | null;
  readonly sourceAddress: string | null;
  readonly confirmationsRequired: number | null;
  readonly lateGraceSeconds: number;
  readonly returnUrl: string | null;
  readonly description: string | null;
  readonly signedDataHash: string | null;
  /** W3C. Undefined while tracing is off. */
  readonly traceparent?: string | undefined;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Null for an order with an amount, as are the next four. */
  readonly currency: string | null;
  readonly price: string | null;
  readonly rate: string | null;
  readonly rateId: string | null;
  readonly markupBps: number | null;
  /** Null for an order of one coin, as are the options. Else the number of chosen options. */
  readonly choices: number | null;
  readonly options: readonly NewOption[] | null;
  /** The payment link that opens it. */
  readonly linkId: string | null;
}

/** A coin in which the order may be paid. */
export interface NewOption {
  readonly chain: Chain;
  readonly family: Family;
  readonly symbol: string;
  readonly contractAddress: string | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  /** Base units as text, because JSON numbers lose precision. */
  readonly amount: string;
  readonly confirmationsRequired: number | null;
  readonly rate: string;
  readonly rateId: string;
  readonly chosen: boolean;
}

export interface Creation {
  readonly order: NewOrder;
  readonly nonce: SpentNonce;
  readonly notificationId: string;
  readonly notificationData: string;
  readonly events: readonly OutboxEvent[];
}

/** A nonce that is spent together with the effect of its request. */
export interface SpentNonce {
  readonly merchantId: string;
  readonly nonce: string;
  readonly expiresAt: Date;
}

const CREATED = [
  'orderId',
  'orderType',
  'uid',
  'chain',
  'family',
  'symbol',
  'decimals',
  'displayDecimals',
  'amount',
  'address',
  'sourceAddress',
  'expiresAt',
  'currency',
  'price',
  'rate',
  'choices',
  'linkId',
] as const satisfies readonly (keyof NewOrder)[];

/** An order as first created. Repeated requests are compared with it and answered from it. */
export type CreatedOrder = Pick<NewOrder, (typeof CREATED)[number] | 'options'>;

export interface ExistingOrder extends CreatedOrder {
  /** Now. */
  readonly status: OrderStatus;
}

/**
 * Outcome of a creation. INSUFFICIENT and DUPLICATE occur only for payouts, LINK_ENDED and SOLD_OUT only for orders of a
 * payment link.
 */
export type CreationOutcome =
  | { readonly outcome: 'CREATED' | 'NONCE_USED' | 'INSUFFICIENT' | LinkRefusal }
  | { readonly outcome: 'EXISTS' | 'DUPLICATE'; readonly existing: ExistingOrder };

export type LinkRefusal = 'LINK_ENDED' | 'SOLD_OUT';

type OutcomeRow = ExistingOrder & Pick<CreationOutcome, 'outcome'>;

export const createdColumns = (row: string) =>
  sql.raw(`${CREATED.map((name) => `${row}.${snakeCase(name)} as "${name}"`).join(', ')}, ${optionsOf(row)}`);
/** Column of an order; null for an order of one coin. */
export const optionsOf = (row: string) => `case when ${row}.choices is not null then (
  select jsonb_agg(jsonb_build_object('chain', x.chain, 'family', x.family, 'symbol', x.symbol, 'contractAddress', x.contract_address,
    'decimals', x.decimals, 'displayDecimals', x.display_decimals, 'amount', x.amount::text,
    'confirmationsRequired', x.confirmations_required, 'rate', x.rate, 'rateId', x.rate_id, 'chosen', x.chosen_at is not null)
    order by x.place)
  from order_option x where x.order_pk = ${row}.order_pk) end as options`;
const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const existingColumns = (row: string) => sql`${createdColumns(row)}, ${sql.raw(row)}.status`;
const FUNCTION_COLUMNS = existingColumns('(r.existing)');

/** An order with options has no address yet, and no index. */
export type NewCollection = Creation & { readonly derivationIndex?: number };

/** Concurrent calls of create_collections, and maximum collections per call. */
const CREATIONS_AT_ONCE = 3;
const CREATIONS_PER_CALL = 32;

/** Creates collections in one transaction and round trip. Outcomes are in the order of the inputs. */
async function createCollections(db: Db, inputs: readonly NewCollection[]): Promise<CreationOutcome[]> {
  const sorted = inputs
    .map((input, place) => ({ input, place }))
    .sort((a, b) => (lockKey(a.input) < lockKey(b.input) ? -1 : 1));
  const p = JSON.stringify(
    sorted.map(({ input }) => ({ ...creation(input), derivationIndex: input.derivationIndex })),
  );
  const { rows } = await sql<OutcomeRow>`
    select r.outcome, ${FUNCTION_COLUMNS} from create_collections(${p}) r`.execute(db);
  const outcomes: CreationOutcome[] = [];
  sorted.forEach(({ place }, i) => (outcomes[place] = toOutcome(rows[i])));
  return outcomes;
}

function lockKey({ order }: NewCollection): string {
  return `${order.merchantId} ${order.orderId}`;
}

export function creations(db: Db) {
  return {
    /** Spends the nonce and creates the collection with its address, first notification and events, or none of them. */
    createCollection: batchCalls<NewCollection, CreationOutcome>({
      runTogether: (inputs) => createCollections(db, inputs),
      failedWhole: (error) => !isDatabaseUnavailable(error),
      runsAtOnce: CREATIONS_AT_ONCE,
      inputsPerRun: CREATIONS_PER_CALL,
    }),

    /** The same for an order that a payment link opens, unless the link has ended or its stock is taken. */
    async openLinkOrder({ derivationIndex, ...input }: NewCollection): Promise<CreationOutcome> {
      const p = JSON.stringify({ ...creation(input), derivationIndex });
      const { rows } = await sql<OutcomeRow>`
        select r.outcome, ${FUNCTION_COLUMNS} from open_link_order(${p}) r`.execute(db);
      return toOutcome(rows[0]);
    },

    /** Spends the nonce, stores the payout, reserves its amount and appends its events, or only spends the nonce. */
    async createPayout(input: Creation): Promise<CreationOutcome> {
      const p = JSON.stringify(creation(input));
      const { rows } = await sql<OutcomeRow>`
        select r.outcome, ${FUNCTION_COLUMNS} from create_payout(${p}) r`.execute(db);
      return toOutcome(rows[0]);
    },

    /** False when the nonce was already used. */
    async spendNonce({ merchantId, nonce, expiresAt }: SpentNonce): Promise<boolean> {
      const { rows } = await sql<{ spent: boolean }>`
        select spend_nonce(${merchantId}, ${nonce}, ${expiresAt}) as spent`.execute(db);
      return rows[0]?.spent === true;
    },

    /** Finds the order of this id, or the payout with this signed data, and whether the nonce was already used. */
    async findCreated(key: {
      readonly merchantId: string;
      readonly orderId: string | null;
      readonly signedDataHash: string | null;
      readonly nonce: string;
    }): Promise<{ readonly nonceUsed: boolean; readonly existing: ExistingOrder | undefined }> {
      const { rows } = await sql<
        { nonceUsed: boolean } & { [K in keyof ExistingOrder]: ExistingOrder[K] | null }
      >`
        select n.used as "nonceUsed", ${existingColumns('o')}
        from (select exists (
          select from request_nonce where merchant_id = ${key.merchantId} and nonce = ${key.nonce}) as used) n
        left join orders o on o.merchant_id = ${key.merchantId}
          and (o.order_id = ${key.orderId} or o.signed_data_hash = decode(${key.signedDataHash}, 'hex'))
        limit 1`.execute(db);
      const row = rows[0];
      return {
        nonceUsed: row?.nonceUsed === true,
        existing: row === undefined || row.orderId === null ? undefined : (row as ExistingOrder),
      };
    },

    async isDepositAddress(family: Family, address: string): Promise<boolean> {
      const { rows } = await sql`
        select from deposit_address where family = ${family} and address = ${address}`.execute(db);
      return rows.length > 0;
    },
  };
}

/** Input that create_collections and create_payout share; base units as decimal text. */
function creation({ order: created, nonce, events, notificationId, notificationData }: Creation) {
  const { options, ...order } = created;
  return {
    notificationId,
    notificationData,
    nonce: nonce.nonce,
    nonceExpiresAt: nonce.expiresAt,
    order: { ...order, amount: String(order.amount), acceptedAmount: String(order.acceptedAmount) },
    ...(options !== null && { options }),
    events: events.map(({ envelope, routingKey }) => ({
      eventId: envelope.id,
      routingKey,
      payload: JSON.stringify(envelope),
    })),
  };
}

function toOutcome(row: OutcomeRow | undefined): CreationOutcome {
  if (row === undefined) throw new Error('the creation function returned no row');
  const { outcome, ...existing } = row;
  return { outcome, existing } as CreationOutcome;
}
