import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { migrate } from '../src/migrate.ts';
import { MIGRATIONS } from '../src/migrations/list.ts';
import { roleUrl } from '../src/roles.ts';
import { waitUntil } from '@opentill/testkit/wait-until';

/* A gateway that has payouts, and goes on taking them, while their tables are put under it. */

const PAYOUTS = MIGRATIONS.findIndex((migration) => migration.name === '0006-payouts');
const BEFORE = MIGRATIONS.slice(0, PAYOUTS);
/** What came later reserves from no wallet that setup has not written down, and there was nowhere to write one before. */
const WITH_PAYOUTS = MIGRATIONS.slice(0, PAYOUTS + 1);
const SINCE = MIGRATIONS.slice(PAYOUTS + 1).map((migration) => migration.name);

let server: pg.Client;
let url: string;
let name: string;
let admin: pg.Client;
const clients: pg.Client[] = [];
beforeAll(async () => {
  const own = new URL(process.env['OPENTILL_TEST_DATABASE_URL'] ?? '');
  server = new pg.Client({ connectionString: own.toString() });
  await server.connect();
  name = `opentill_test_${Math.floor(Date.now() / 1_000)}_${randomBytes(6).toString('hex')}`;
  await server.query(`create database ${name}`);
  own.pathname = `/${name}`;
  url = own.toString();
  await migrate(url, { migrations: BEFORE });
  admin = await connect();
  await admin.query(`insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed)
    values ('m', 'm', 'V3', '', '')`);
  await admin.query("select book_top_up('ETH:0x1:USDT', 'ETH', 'USDT', 1000000000)");
});
afterAll(async () => {
  for (const client of clients) await client.end();
  await server.query(`drop database ${name} with (force)`);
  await server.end();
});

async function connect(connectionString = url): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  clients.push(client);
  return client;
}

const WALLET = '0x00000000000000000000000000000000000000aa';
const soon = () => new Date(Date.now() + 600_000).toISOString();

/** As the api of before accepts a payout: create_payout() and its reserve(). */
async function create(api: pg.Client): Promise<string> {
  const order = {
    orderPk: randomUUID(),
    merchantId: 'm',
    orderId: randomUUID(),
    orderType: 'PAYOUT',
    chain: 'ETH',
    family: 'EVM',
    symbol: 'USDT',
    contractAddress: WALLET,
    decimals: 6,
    displayDecimals: 2,
    amount: '100',
    acceptedAmount: '100',
    address: '0xto',
    sourceAddress: WALLET,
    createdAt: new Date().toISOString(),
    expiresAt: soon(),
  };
  const said = { orderId: order.orderId, status: 'INIT', actualAmount: null, transaction: null };
  const { rows } = await api.query<{ outcome: string }>('select outcome from create_payout($1)', [
    {
      order,
      nonce: randomUUID(),
      nonceExpiresAt: soon(),
      notificationId: randomUUID(),
      notificationData: JSON.stringify(said),
      events: [],
    },
  ]);
  expect(rows).toEqual([{ outcome: 'CREATED' }]);
  return order.orderPk;
}

/** An order as only somebody with the owner's rights makes it. */
async function anOrder(orderType: string, status: string): Promise<string> {
  const orderPk = randomUUID();
  await admin.query(
    `insert into orders (order_pk, merchant_id, order_id, order_type, status, chain, family, symbol, decimals, display_decimals, amount,
       accepted_amount, address, source_address, created_at, expires_at)
     values ($1, 'm', $1::uuid::text, $2, $3, 'ETH', 'EVM', 'USDT', 6, 2, 100, 100, '0xto', '${WALLET}', now(), now())`,
    [orderPk, orderType, status],
  );
  return orderPk;
}

const payoutsOf = async (): Promise<ReadonlySet<string>> =>
  new Set(
    (await admin.query<{ order_pk: string }>('select order_pk from payout')).rows.map((row) => row.order_pk),
  );

test('every reserved payout gets its row, whenever it was created; nothing fails meanwhile', async () => {
  const api = await connect(roleUrl(url, 'api'));
  const held: string[] = [];
  for (let i = 0; i < 30; i += 1) held.push(await create(api));
  const without = [await anOrder('PAYOUT', 'INIT'), await anOrder('COLLECTION', 'INIT')];
  const failed = await create(api);
  await admin.query(`update orders set status = 'FAILED', reason = 'x' where order_pk = $1`, [failed]);

  let working = true;
  let slowestMs = 0;
  const created: string[] = [];
  const errors: unknown[] = [];
  const loop = async (client: pg.Client) => {
    while (working) {
      const began = performance.now();
      await create(client).then(
        (orderPk) => created.push(orderPk),
        (error: unknown) => errors.push(error),
      );
      slowestMs = Math.max(slowestMs, performance.now() - began);
    }
  };
  const loops = [loop(api), loop(await connect(roleUrl(url, 'api')))];
  await waitUntil('payouts are created', () => created.length > 10);
  // One in the middle of the old reserve() when the new one comes: it has written its order, and ends later.
  const slow = await connect(roleUrl(url, 'api'));
  await slow.query('begin');
  const slowOne = await create(slow);
  const migrated = migrate(url, { migrations: WITH_PAYOUTS, waitMs: 300_000 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await slow.query('commit');
  expect(await migrated).toEqual(['0006-payouts']);
  const before = created.length;
  await waitUntil('payouts are created on the new schema', () => created.length > before + 10);
  await admin.query(`insert into hot_wallet (family, address) values ('EVM', '${WALLET}')`);
  expect(await migrate(url, { waitMs: 300_000 })).toEqual(SINCE);
  const onTheNewest = created.length;
  await waitUntil('payouts are created on the newest schema', () => created.length > onTheNewest + 10);
  working = false;
  await Promise.all(loops);

  expect(errors).toEqual([]);
  expect(slowestMs).toBeLessThan(30_000);
  const payouts = await payoutsOf();
  expect([...held, ...created, slowOne].filter((orderPk) => !payouts.has(orderPk))).toEqual([]);
  expect([...without, failed].filter((orderPk) => payouts.has(orderPk))).toEqual([]);
  const { rows } = await admin.query(
    `select count(*)::int as n from payout p join orders o using (order_pk)
     where p.state = 'REQUESTED' and p.money = 'RESERVED' and p.wallet = o.source_address and p.expires_at = o.expires_at`,
  );
  expect(rows).toEqual([{ n: payouts.size }]);
  expect((await admin.query('select from pg_index where not indisvalid')).rowCount).toBe(0);
});

test('broken off and done again it does no harm, also when payouts have gone on', async () => {
  const [moved] = await payoutsOf();
  await admin.query(`update payout set state = 'REFUSED', reason = 'x' where order_pk = $1`, [moved]);
  const before = await payoutsOf();
  const again = ['0006-payouts', ...SINCE];
  await admin.query('delete from schema_migration where name = any($1)', [again]);
  expect(await migrate(url)).toEqual(again);
  expect(await payoutsOf()).toEqual(before);
  const { rows } = await admin.query('select state from payout where order_pk = $1', [moved]);
  expect(rows).toEqual([{ state: 'REFUSED' }]);
});
