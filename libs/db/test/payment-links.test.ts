import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { aMerchant, anEvmAddress } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';

const { admin, open: openAs } = await openTestDatabase();
const [api, tracker] = [openAs('api'), openAs('tracker')];
let merchantId: string;
beforeEach(async () => {
  merchantId = (await aMerchant(admin.kysely)).merchantId;
});

let nextIndex = 0;
const later = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

async function aLink(stock: number | null = null): Promise<string> {
  const linkId = `link-${randomUUID()}`;
  await sql`
    insert into payment_link (merchant_id, link_id, link_code, chain, symbol, amount, stock)
    values (${merchantId}, ${linkId}, ${randomBytes(16).toString('base64url')}, 'ETH_SEPOLIA', 'USDT', '25.00', ${stock})`.execute(
    api.kysely,
  );
  return linkId;
}

async function open(linkId: string, orderId: string = randomUUID(), db = api.kysely): Promise<string> {
  const order = {
    orderPk: randomUUID(),
    merchantId,
    orderId,
    orderType: 'COLLECTION',
    chain: 'ETH_SEPOLIA',
    family: 'EVM',
    symbol: 'USDT',
    contractAddress: anEvmAddress(),
    decimals: 6,
    displayDecimals: 2,
    amount: '25000000',
    acceptedAmount: '25000000',
    address: anEvmAddress(),
    confirmationsRequired: 3,
    createdAt: later(0),
    expiresAt: later(600),
    linkId,
  };
  const data = { orderId, status: 'INIT', actualAmount: null, transaction: null };
  const request = {
    order,
    nonce: randomUUID(),
    nonceExpiresAt: later(600),
    derivationIndex: (nextIndex += 1),
    notificationId: randomUUID(),
    notificationData: JSON.stringify(data),
    events: [],
  };
  const { rows } = await sql<{ outcome: string }>`
    select outcome from open_link_order(${JSON.stringify(request)}::jsonb)`.execute(db);
  return rows[0]!.outcome;
}

async function move(orderId: string, status: string): Promise<void> {
  await sql`update orders set status = ${status} where merchant_id = ${merchantId} and order_id = ${orderId}`.execute(
    tracker.kysely,
  );
}

async function untilOpeningWaits(): Promise<void> {
  await waitUntil('an opening waits for the link', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`.execute(
      admin.kysely,
    );
    return rows.length > 0;
  });
}

async function ordersOf(linkId: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from orders where merchant_id = ${merchantId} and link_id = ${linkId}`.execute(
    admin.kysely,
  );
  return rows[0]!.n;
}

describe('stock', () => {
  test('gives the last pieces to exactly as many of the orders opened at once', async () => {
    const linkId = await aLink(3);
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => open(linkId)));
    expect(outcomes.toSorted()).toEqual([
      ...Array<string>(3).fill('CREATED'),
      ...Array<string>(7).fill('SOLD_OUT'),
    ]);
    expect(await ordersOf(linkId)).toBe(3);
  });

  test('makes one order of the last piece when its form is sent twice at once', async () => {
    const linkId = await aLink(1);
    const orderId = randomUUID();
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => open(linkId, orderId)));
    expect(outcomes.toSorted()).toEqual(['CREATED', ...Array<string>(5).fill('EXISTS')]);
  });

  test.each([
    ['PENDING', 'SOLD_OUT'],
    ['PENDING_CONFIRMATION', 'SOLD_OUT'],
    ['SUCCESS', 'SOLD_OUT'],
    ['EXPIRED', 'CREATED'],
    ['FAILED', 'CREATED'],
  ])('answers a second customer while the only piece is %s with %s', async (status, outcome) => {
    const linkId = await aLink(1);
    const orderId = randomUUID();
    await open(linkId, orderId);
    await move(orderId, status);
    expect(await open(linkId)).toBe(outcome);
  });

  test('keeps an order that is paid after its piece was sold again, and counts both', async () => {
    const linkId = await aLink(1);
    const [late, second] = [randomUUID(), randomUUID()];
    await open(linkId, late);
    await move(late, 'EXPIRED');
    await open(linkId, second);
    await move(late, 'PENDING_CONFIRMATION');
    await move(late, 'SUCCESS');
    await move(second, 'EXPIRED');
    expect(await open(linkId)).toBe('SOLD_OUT');
  });

  test('waits for an opening that is not committed, and counts it', async () => {
    const linkId = await aLink(1);
    let waiting: Promise<string> | undefined;
    await api.kysely.transaction().execute(async (tx) => {
      expect(await open(linkId, randomUUID(), tx)).toBe('CREATED');
      waiting = open(linkId);
      await untilOpeningWaits();
    });
    expect(await waiting).toBe('SOLD_OUT');
  });

  test('sees an expiry that was committed while it waited', async () => {
    const linkId = await aLink(1);
    const orderId = randomUUID();
    await open(linkId, orderId);
    let waiting: Promise<string> | undefined;
    await api.kysely.transaction().execute(async (tx) => {
      await sql`select from payment_link where link_id = ${linkId} for no key update`.execute(tx);
      waiting = open(linkId);
      await untilOpeningWaits();
      await move(orderId, 'EXPIRED');
    });
    expect(await waiting).toBe('CREATED');
  });
});

test('names one coin, or has a price and a choice', async () => {
  const insert = (columns: string, values: string) =>
    sql`insert into payment_link (merchant_id, link_id, link_code, amount, ${sql.raw(columns)})
      values (${merchantId}, ${randomUUID()}, ${randomBytes(16).toString('base64url')}, '25', ${sql.raw(values)})`.execute(
      api.kysely,
    );
  await insert('currency', "'EUR'");
  await insert('currency, accept', `'EUR', '[{"chain": "TRON", "symbol": "USDT"}]'`);
  for (const [columns, values] of [
    ['chain', "'TRON'"],
    ['accept', "'[]'"],
    ['currency, accept', "'EUR', '{}'"],
    ['currency, accept', "'EUR', '[]'"],
    ['chain, symbol, currency, accept', "'TRON', 'USDT', 'EUR', '[]'"],
  ] as const)
    await expect(insert(columns, values)).rejects.toMatchObject({ code: 'DATABASE_CONSTRAINT' });
});

describe('a link that has ended', () => {
  test('opens no order, but finds one that it opened', async () => {
    const linkId = await aLink();
    const orderId = randomUUID();
    expect(await open(linkId, orderId)).toBe('CREATED');
    await sql`update payment_link set closed_at = now() where link_id = ${linkId}`.execute(api.kysely);
    expect([await open(linkId), await open(linkId, orderId)]).toEqual(['LINK_ENDED', 'EXISTS']);
  });

  test('opens no order from its time on', async () => {
    const linkId = await aLink();
    await sql`update payment_link set expires_at = now() where link_id = ${linkId}`.execute(admin.kysely);
    expect(await open(linkId)).toBe('LINK_ENDED');
  });

  test('cannot be changed by the api in any other way', async () => {
    const linkId = await aLink(1);
    for (const change of ["amount = '1'", 'stock = 2', 'expires_at = null', "link_code = 'x'"])
      await expect(
        sql`update payment_link set ${sql.raw(change)} where link_id = ${linkId}`.execute(api.kysely),
      ).rejects.toMatchObject({ code: 'DATABASE_FORBIDDEN' });
  });
});
