import { sql, type Insertable } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { OrderOptionTable, OrdersTable } from '@opentill/db/tables';
import { familyOf, type Chain } from '@opentill/domain/chains';
import { acceptedShares } from '@opentill/domain/order-shares';
import { newId } from '@opentill/runtime/ids';
import { aMerchant, anEvmAddress, aRate, type OrderRow } from './scenario.ts';

/** A coin of an order, as a transfer to its address needs it. */
export type TestOption = Pick<OrderRow, 'chain' | 'family' | 'symbol' | 'contract_address' | 'amount'> & {
  readonly confirmations_required: number | null;
};

export function anOption(chain: Chain, symbol: string, amount: bigint, depth: number | null = 3): TestOption {
  const contract_address = `0x${Buffer.from(symbol).toString('hex').padStart(40, '0')}`;
  return { chain, family: familyOf(chain), symbol, contract_address, amount, confirmations_required: depth };
}

/** Priced at 49.90 EUR, with 6 decimals in each coin, as the api creates it: no coin is chosen. */
export async function anOrderWithOptions(
  db: Db,
  options: readonly TestOption[],
  overrides: Partial<Insertable<OrdersTable>> = {},
): Promise<Omit<OrderRow, 'address'>> {
  const rate = '0.920500000000';
  const rate_id = await aRate(db, { rate });
  const [first] = options;
  if (first === undefined) throw new RangeError('an order has an option');
  const createdAt = overrides.created_at ?? new Date();
  const order = await db
    .insertInto('orders')
    .values({
      order_pk: newId(),
      merchant_id: overrides.merchant_id ?? (await aMerchant(db)).merchantId,
      order_id: `order-${newId()}`,
      order_type: 'COLLECTION',
      ...first,
      decimals: 6,
      display_decimals: 2,
      accepted_amount: acceptedShares(0),
      address: null,
      choices: 0,
      currency: 'EUR',
      price: '49.90',
      rate,
      rate_id,
      markup_bps: 0,
      created_at: createdAt,
      expires_at: new Date(createdAt.getTime() + 1_800_000),
      ...overrides,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const rows: Insertable<OrderOptionTable>[] = options.map((option, place) => ({
    ...option,
    order_pk: order.order_pk,
    place,
    decimals: 6,
    display_decimals: 2,
    currency: 'EUR',
    rate,
    rate_id,
  }));
  await db.insertInto('order_option').values(rows).execute();
  return order;
}

/** As the api does it. @returns outcome, and the address of the coin's family */
export async function choose(
  db: Db,
  { order_pk }: Pick<OrderRow, 'order_pk'>,
  { chain, symbol, family }: Pick<TestOption, 'chain' | 'symbol' | 'family'>,
): Promise<{ readonly outcome: string; readonly address: string | undefined }> {
  const { rows } = await sql<{ outcome: string }>`
    select choose_option(${order_pk}, ${chain}, ${symbol}, ${anEvmAddress()},
      nextval(${`deposit_index_${family.toLowerCase()}`}::regclass)) as outcome`.execute(db);
  const found = await db
    .selectFrom('deposit_address')
    .select('address')
    .where('order_pk', '=', order_pk)
    .where('family', '=', family)
    .executeTakeFirst();
  return { outcome: rows[0]?.outcome ?? '', address: found?.address };
}
