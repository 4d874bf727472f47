import { randomBytes, randomUUID } from 'node:crypto';
import { sql, type Insertable, type Selectable } from 'kysely';
import { familyOf, type Chain } from '@opentill/domain/chains';
import type { Db } from '@opentill/db/database';
import { MERCHANT_TOKEN_LENGTH_MIN, upsertMerchant, type MerchantSettings } from '@opentill/db/merchants';
import { sealSecret, tokenAad } from '@opentill/db/sealed-secret';
import type { ChainCursorTable, OrdersTable, TransferTable } from '@opentill/db/tables';

export const TEST_SECRETS_KEY = Buffer.alloc(32, 'opentill-test-key');
export const TEST_SECRETS_KEY_BASE64 = TEST_SECRETS_KEY.toString('base64');

/** With its address: of one coin, or chosen. */
export type OrderRow = Selectable<OrdersTable> & { readonly address: string };
export type TransferRow = Selectable<TransferTable>;
export type ChainCursorRow = Selectable<ChainCursorTable>;

/** One USDT of the default asset, with 6 decimals on ETH_SEPOLIA. */
export const ONE_USDT = 1_000_000n;
const USDT_CONTRACT = '0x00000000000000000000000000000000000dec06';
const MINUTE_MS = 60_000;

export function anEvmAddress(): string {
  return `0x${randomBytes(20).toString('hex')}`;
}

export function aHash(): string {
  return `0x${randomBytes(32).toString('hex')}`;
}

/** Returns secrets in clear. All helpers here need a `db` opened as 'admin', to write several services' tables. */
export async function aMerchant(
  db: Db,
  overrides: Partial<MerchantSettings> = {},
): Promise<MerchantSettings> {
  const id = overrides.merchantId ?? `m-${randomBytes(6).toString('hex')}`;
  const merchant: MerchantSettings = {
    merchantId: id,
    name: `Merchant ${id}`,
    version: 'V3',
    token: `token-of-${id}`.padEnd(MERCHANT_TOKEN_LENGTH_MIN, '-'),
    webhookSecret: `secret-of-${id}`,
    ...overrides,
  };
  await upsertMerchant(db, TEST_SECRETS_KEY, merchant);
  return merchant;
}

/** Merchant of an earlier version, which accepted tokens of any length. Other settings as in aMerchant. */
export async function aMerchantWithShortToken(
  db: Db,
  { token, ...overrides }: Partial<MerchantSettings> & Pick<MerchantSettings, 'token'>,
): Promise<void> {
  const { merchantId } = await aMerchant(db, overrides);
  const sealed = sealSecret(TEST_SECRETS_KEY, token, tokenAad(merchantId));
  await db
    .updateTable('merchant')
    .set({ token_sealed: sealed })
    .where('merchant_id', '=', merchantId)
    .execute();
}

export type OrderOverrides = Partial<Insertable<OrdersTable>>;

async function anOrder(db: Db, defaults: OrderOverrides, overrides: OrderOverrides): Promise<OrderRow> {
  const chain: Chain = overrides.chain ?? 'ETH_SEPOLIA';
  const createdAt = overrides.created_at ?? new Date();
  const amount = overrides.amount ?? 250n * ONE_USDT;
  const order: Insertable<OrdersTable> = {
    order_pk: randomUUID(),
    merchant_id: overrides.merchant_id ?? (await aMerchant(db)).merchantId,
    order_id: `order-${randomBytes(6).toString('hex')}`,
    order_type: 'COLLECTION',
    chain,
    family: familyOf(chain),
    symbol: 'USDT',
    contract_address: USDT_CONTRACT,
    decimals: 6,
    display_decimals: 2,
    amount,
    accepted_amount: amount,
    address: anEvmAddress(),
    confirmations_required: 3,
    created_at: createdAt,
    expires_at: new Date(createdAt.getTime() + 30 * MINUTE_MS),
    ...defaults,
    ...overrides,
  };
  const rows = db.insertInto('orders').values(order).returningAll();
  return rows.$narrowType<{ address: string }>().executeTakeFirstOrThrow();
}

/** Collection of 250 USDT on ETH_SEPOLIA with its deposit address, in status INIT, expiring in 30 minutes. */
export async function aCollection(db: Db, overrides: OrderOverrides = {}): Promise<OrderRow> {
  const order = await anOrder(db, {}, overrides);
  const { rows } = await sql<{ index: number }>`
    select nextval(${`deposit_index_${order.family.toLowerCase()}`}::regclass) as index`.execute(db);
  await db
    .insertInto('deposit_address')
    .values({
      family: order.family,
      address: order.address,
      derivation_index: rows[0]?.index ?? 0,
      order_pk: order.order_pk,
    })
    .execute();
  return order;
}

/** A current rate that one source gave, valid for a minute. @returns its id */
export async function aRate(
  db: Db,
  { symbol = 'USDT', currency = 'EUR', rate = '0.920500000000', validForSeconds = 60 } = {},
): Promise<string> {
  const rateId = randomUUID();
  const sources = JSON.stringify([
    { source: 'kraken', pair: `${symbol}/${currency}`, value: rate, at: '2026-11-24T15:00:00.000Z' },
  ]);
  await sql`
    insert into rate (rate_id, symbol, currency, rate, kind, sources, taken_at, valid_until) values (${rateId}, ${symbol},
      ${currency}, ${rate}, 'MARKET', ${sources}::jsonb, now(), now() + ${validForSeconds} * interval '1 second')`.execute(
    db,
  );
  await sql`
    insert into current_rate (symbol, currency, rate_id, decided_at) values (${symbol}, ${currency}, ${rateId}, now())
    on conflict (symbol, currency) do update set rate_id = excluded.rate_id, refusal = null`.execute(db);
  return rateId;
}

/** Payout of 250 USDT on ETH_SEPOLIA from a hot wallet or the given deposit address, in status INIT, not reserved. */
export async function aPayout(db: Db, overrides: OrderOverrides = {}): Promise<OrderRow> {
  const defaults = {
    order_type: 'PAYOUT',
    confirmations_required: null,
    source_address: anEvmAddress(),
  } as const;
  const order = await anOrder(db, defaults, overrides);
  const { family, source_address: wallet } = order;
  await sql`insert into hot_wallet (family, address) select ${family}, ${wallet}
    where ${wallet}::text is not null
      and not exists (select from deposit_address d where d.family = ${family} and d.address = ${wallet})
    on conflict do nothing`.execute(db);
  return order;
}

/** Transfer that pays `order` in full shortly before now, DETECTED in block 100. */
export async function aTransfer(
  db: Db,
  order: Pick<OrderRow, 'chain' | 'family' | 'symbol' | 'contract_address' | 'address' | 'amount'>,
  overrides: Partial<Insertable<TransferTable>> = {},
): Promise<TransferRow> {
  const blockTime = overrides.block_time ?? new Date();
  return db
    .insertInto('transfer')
    .values({
      chain: order.chain,
      family: order.family,
      tx_hash: aHash(),
      position: 'log:0',
      contract_address: order.contract_address,
      symbol: order.symbol,
      from_address: anEvmAddress(),
      to_address: order.address,
      amount: order.amount,
      network_fee: 21_000_000_000_000n,
      block_height: 100,
      block_hash: aHash(),
      block_time: blockTime,
      first_block_time: blockTime,
      state: 'DETECTED',
      ...overrides,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Cursor of a chain whose head, seen and verified block are block 100, with the current time. */
export async function aChainCursor(
  db: Db,
  overrides: Partial<Insertable<ChainCursorTable>> = {},
): Promise<ChainCursorRow> {
  const chain: Chain = overrides.chain ?? 'ETH_SEPOLIA';
  const now = new Date();
  const row: Insertable<ChainCursorTable> = {
    chain,
    family: familyOf(chain),
    head_height: 100,
    head_hash: aHash(),
    head_time: now,
    finalized_height: null,
    seen_height: 100,
    seen_hash: aHash(),
    verified_height: 100,
    verified_hash: aHash(),
    verified_time: now,
    fencing_token: 1,
    ...overrides,
  };
  return db
    .insertInto('chain_cursor')
    .values(row)
    .onConflict((conflict) => conflict.column('chain').doUpdateSet(row))
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Hot wallet balance, booked as an operator's top-up. */
export async function aHotWallet(
  db: Db,
  {
    chain = 'ETH_SEPOLIA',
    symbol = 'USDT',
    amount = 1_000n * ONE_USDT,
  }: Partial<Pick<OrderRow, 'chain' | 'symbol' | 'amount'>> = {},
): Promise<void> {
  await sql`select book_top_up(${`${chain}:${aHash()}:log:0`}, ${chain}, ${symbol}, ${amount})`.execute(db);
}
