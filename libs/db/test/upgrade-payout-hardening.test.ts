import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { migrate } from '../src/migrate.ts';
import { MIGRATIONS, type Migration } from '../src/migrations/list.ts';
import { roleUrl } from '../src/roles.ts';

/*
 * What 0009 finds in a database that has paid before: wallets at work that nobody wrote down, wallets that never paid, halts
 * of restores; and what the api of the version before, which knows nothing of it, is answered from then on.
 */

const NAME = '0009-payout-hardening';
const PLACE = MIGRATIONS.findIndex((migration) => migration.name === NAME);
const BEFORE = MIGRATIONS.slice(0, PLACE);
const HARDENING = MIGRATIONS[PLACE]!;
const THROUGH = MIGRATIONS.slice(0, PLACE + 1);

/** Has signed, and no `setup` had a public key file. */
const AT_WORK = '0x00000000000000000000000000000000000000a1';
/** Has only been promised from. */
const NEVER_PAID = '0x00000000000000000000000000000000000000b2';

let server: pg.Client;
let name: string;
let url: string;
let admin: pg.Client;
let api: pg.Client;
let signer: pg.Client;
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
  [admin, api, signer] = [
    await connect(url),
    await connect(roleUrl(url, 'api')),
    await connect(roleUrl(url, 'signer')),
  ];
  await admin.query(`insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed)
    values ('m', 'm', 'V3', '', '')`);
  await admin.query("select book_top_up('ETH:0x1:USDT', 'ETH', 'USDT', 1000000)");
});
afterAll(async () => {
  for (const client of clients) await client.end();
  await server.query(`drop database ${name} with (force)`);
  await server.end();
});

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  clients.push(client);
  return client;
}

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();

/** What the api of before hands to create_payout(). */
function request(sourceAddress: string, expiresAt = inMinutes(30)) {
  const orderPk = randomUUID();
  return {
    order: {
      orderPk,
      merchantId: 'm',
      orderId: orderPk,
      orderType: 'PAYOUT',
      chain: 'ETH',
      family: 'EVM',
      symbol: 'USDT',
      contractAddress: '0xtoken',
      decimals: 6,
      displayDecimals: 2,
      amount: '100',
      acceptedAmount: '100',
      address: '0xto',
      sourceAddress,
      createdAt: inMinutes(0),
      expiresAt,
    },
    nonce: randomUUID(),
    nonceExpiresAt: inMinutes(10),
    notificationId: randomUUID(),
    notificationData: JSON.stringify({
      orderId: orderPk,
      status: 'INIT',
      actualAmount: null,
      transaction: null,
    }),
    events: [{ eventId: randomUUID(), routingKey: 'k', payload: '{}' }],
  };
}

async function create(item: ReturnType<typeof request>): Promise<string> {
  const { rows } = await api.query<{ outcome: string }>('select outcome from create_payout($1)', [item]);
  expect(rows).toEqual([{ outcome: 'CREATED' }]);
  return item.order.orderPk;
}

/** As the signer of before. */
async function sign(orderPk: string, wallet: string, nonce: number): Promise<void> {
  const set = (from: string, to: string) =>
    signer.query(
      `update payout set state = $2, authorised_at = clock_timestamp(), version = version + 1, updated_at = now()
       where order_pk = $1 and state = $3`,
      [orderPk, to, from],
    );
  expect((await set('REQUESTED', 'AUTHORISED')).rowCount).toBe(1);
  await signer.query(
    `insert into wallet_nonce (chain, wallet, nonce, state, order_pk) values ('ETH', $1, $2, 'RESERVED', $3)`,
    [wallet, nonce, orderPk],
  );
  await signer.query('begin');
  expect((await set('AUTHORISED', 'SIGNED')).rowCount).toBe(1);
  await signer.query(
    `update wallet_nonce set state = 'SIGNED', updated_at = now() where chain = 'ETH' and wallet = $1 and nonce = $2`,
    [wallet, nonce],
  );
  await signer.query(
    `insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw, fee_terms, signed_at)
     values ('ETH', $1, 'EVM', $2, $3, 'PAYOUT', $4, '0xtoken', '0xto', 100, '\\x02', '{}', now())`,
    [`0x${randomBytes(32).toString('hex')}`, wallet, nonce, orderPk],
  );
  await signer.query('commit');
}

/** As the signer of any version. */
async function halt(kind: 'FOREIGN_NONCE' | 'RESTORED', chain: string): Promise<string> {
  const haltId = randomUUID();
  await signer.query(
    `insert into wallet_halt (halt_id, chain, wallet, kind, mark, reason) values ($1, $2, $3, $4, $5, 'why')`,
    [haltId, chain, AT_WORK, kind, kind === 'RESTORED' ? 7 : null],
  );
  return haltId;
}
const release = (haltId: string) =>
  admin.query(
    `update wallet_halt set released_at = now(), released_by = 'ann', released_reason = 'looked' where halt_id = $1`,
    [haltId],
  );

const hotWallets = async () =>
  (await admin.query<{ address: string }>('select address from hot_wallet order by address')).rows.map(
    ({ address }) => address,
  );
async function incidents() {
  const { rows } = await admin.query<{ incident_id: string; kind: string; closed_by: string | null }>(
    'select incident_id, kind, closed_by from incident order by opened_at, incident_id',
  );
  return new Map(rows.map(({ incident_id: id, kind, closed_by: by }) => [id, [kind, by]]));
}
async function written() {
  const { rows } = await admin.query(`
    select (select count(*)::int from orders) as orders, (select count(*)::int from payout) as payouts,
      (select count(*)::int from request_nonce) as nonces, (select count(*)::int from notification) as notifications,
      (select count(*)::int from api.outbox) as events, (select count(*)::int from ledger_transaction) as bookings,
      (select balance::int from ledger_account where kind = 'HOT_AVAILABLE') as available`);
  return rows[0] as object;
}

const halts = { foreign: '', restored: '', released: '' };
const waiting: string[] = [];

test('rows of before', async () => {
  await sign(await create(request(AT_WORK)), AT_WORK, 0);
  for (const wallet of [AT_WORK, NEVER_PAID]) waiting.push(await create(request(wallet)));
  halts.foreign = await halt('FOREIGN_NONCE', 'ETH');
  halts.released = await halt('RESTORED', 'BSC');
  await release(halts.released);
  halts.restored = await halt('RESTORED', 'ETH');
  expect(await hotWallets()).toEqual([]);
  expect(await incidents()).toEqual(new Map([[halts.foreign, ['FOREIGN_NONCE', null]]]));
});

test('broken off after each of its steps, and run again: each time it does the rest', async () => {
  const steps = [HARDENING.sql].flat();
  expect(steps.length).toBeGreaterThan(3);
  for (const [done, step] of steps.entries()) {
    const brokenOff: Migration = { name: NAME, sql: [...steps.slice(0, done), 'select broken_off'] };
    await expect(migrate(url, { migrations: [...BEFORE, brokenOff] })).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
    });
    // What a cut in the middle of making it leaves of an index.
    const [, index] = /create index concurrently if not exists (\w+)/.exec(steps[done - 1] ?? '') ?? [];
    if (index !== undefined)
      await admin.query('update pg_index set indisvalid = false where indexrelid = $1::regclass', [index]);
    expect({ step, payouts: (await admin.query('select from payout')).rowCount }).toEqual({
      step,
      payouts: 3,
    });
  }
  expect(await migrate(url, { migrations: THROUGH })).toEqual([NAME]);
  expect(await migrate(url, { migrations: THROUGH })).toEqual([]);
  const indexes = steps.flatMap(
    (step) => /create index concurrently if not exists (\w+)/.exec(step)?.[1] ?? [],
  );
  const { rows } = await admin.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = any($1::regclass[])',
    [indexes],
  );
  expect(rows).toEqual(indexes.map(() => ({ valid: true })));
  // All else that follows is of the schema as it is shipped.
  await migrate(url);
});

describe('afterwards', () => {
  test('wallets at work are known, and nobody else’s word made one', async () => {
    expect(await hotWallets()).toEqual([AT_WORK]);
  });

  test('an open halt of a restore is an incident, once, as that of a stranger is; one that was released is none', async () => {
    expect(await incidents()).toEqual(
      new Map([
        [halts.foreign, ['FOREIGN_NONCE', null]],
        [halts.restored, ['RESTORED', null]],
      ]),
    );
    await release(halts.restored);
    await release(halts.foreign);
    const later = await halt('RESTORED', 'BSC');
    expect(await incidents()).toEqual(
      new Map([
        [halts.foreign, ['FOREIGN_NONCE', 'ann']],
        [halts.restored, ['RESTORED', 'ann']],
        [later, ['RESTORED', null]],
      ]),
    );
    await release(later);
  });

  test('the api of before goes on paying from a wallet at work', async () => {
    const before = await written();
    await create(request(AT_WORK));
    expect(await written()).toMatchObject({ available: (before as { available: number }).available - 100 });
  });

  test('from a wallet that nobody wrote down it is refused, nothing half done, until setup has run; then the same request is taken', async () => {
    const before = await written();
    const asked = request(NEVER_PAID);
    for (const _ of [1, 2])
      await expect(create(asked)).rejects.toMatchObject({
        code: '23000',
        message: `${NEVER_PAID} is no hot wallet of ETH`,
        hint: 'opentill setup with PUBLIC_KEYS_FILE writes the hot wallets',
      });
    expect(await written()).toEqual(before);
    await admin.query(`insert into hot_wallet (family, address) values ('EVM', $1)`, [NEVER_PAID]);
    await create(asked);
  });

  test('what would never end is refused as well', async () => {
    const before = await written();
    for (const end of ['infinity', inMinutes(3 * 24 * 60)])
      await expect(create(request(AT_WORK, end))).rejects.toMatchObject({ code: '23000' });
    expect(await written()).toEqual(before);
  });

  test('payouts that were reserved before are signed, from either wallet', async () => {
    await sign(waiting[0]!, AT_WORK, 1);
    await sign(waiting[1]!, NEVER_PAID, 0);
  });
});
