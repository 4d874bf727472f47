import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import pg from 'pg';
import { migrate } from '../src/migrate.ts';
import { roleUrl } from '../src/roles.ts';
import { SERVICE_ROLES, SERVICE_SCHEMAS, serviceRole, type ServiceSchema } from '../src/service-schema.ts';
import { waitUntil } from '@opentill/testkit/wait-until';
import { BASELINE, SINCE_BASELINE, WITH_EXAMPLE } from './example-migration.ts';
import { untilMigrationWaits } from './until-migration-waits.ts';

/*
 * Services of the previous version work while later migrations run, and after them. Whatever a later release removes is
 * listed here with its reason.
 */

/** By migration; no service that uses these rights runs next to it. */
const TAKEN: Readonly<Record<string, readonly RegExp[]>> = {};

let server: pg.Client;
const names: string[] = [];
const clients: pg.Client[] = [];
beforeAll(async () => {
  server = new pg.Client({ connectionString: process.env['OPENTILL_TEST_DATABASE_URL'] });
  await server.connect();
});
afterAll(async () => {
  for (const client of clients) await client.end();
  for (const name of names) await server.query(`drop database ${name} with (force)`);
  await server.end();
});

async function aDatabase(): Promise<string> {
  const name = `opentill_test_${Math.floor(Date.now() / 1_000)}_${randomBytes(6).toString('hex')}`;
  await server.query(`create database ${name}`);
  names.push(name);
  const url = new URL(process.env['OPENTILL_TEST_DATABASE_URL'] ?? '');
  url.pathname = `/${name}`;
  return url.toString();
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  clients.push(client);
  return client;
}

const ROLES = SERVICE_ROLES.map((name) => `'${serviceRole(name)}'`).join(', ');
const SCHEMAS = ['public', ...SERVICE_SCHEMAS].map((schema) => `'${schema}'`).join(', ');

/** Rights to columns and functions, column types, results of functions. */
async function promisesOf(client: pg.Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ line: string }>(`
    select format('%s %s %s.%s.%s', r.rolname, p.right, n.nspname, c.relname, a.attname) as line
    from pg_roles r, pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped,
      (values ('SELECT'), ('INSERT'), ('UPDATE')) as p ("right")
    where r.rolname in (${ROLES}) and n.nspname in (${SCHEMAS}) and c.relkind in ('r', 'p', 'v') and not c.relispartition
      and has_column_privilege(r.oid, c.oid, a.attnum, p.right)
    union all
    select format('%s DELETE %s.%s', r.rolname, n.nspname, c.relname) from pg_roles r, pg_class c join pg_namespace n on n.oid = c.relnamespace
    where r.rolname in (${ROLES}) and n.nspname in (${SCHEMAS}) and c.relkind in ('r', 'p', 'v') and not c.relispartition
      and has_table_privilege(r.oid, c.oid, 'DELETE')
    union all
    select format('%s USAGE %s.%s', r.rolname, n.nspname, c.relname) from pg_roles r, pg_class c join pg_namespace n on n.oid = c.relnamespace
    where r.rolname in (${ROLES}) and n.nspname in (${SCHEMAS}) and c.relkind = 'S' and has_sequence_privilege(r.oid, c.oid, 'USAGE')
    union all
    select format('%s EXECUTE %s', r.rolname, f.oid::regprocedure) from pg_roles r, pg_proc f join pg_namespace n on n.oid = f.pronamespace
    where r.rolname in (${ROLES}) and n.nspname in (${SCHEMAS}) and has_function_privilege(r.oid, f.oid, 'EXECUTE')
    union all
    select format('column %s.%s.%s %s', n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod))
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where n.nspname in (${SCHEMAS}) and c.relkind in ('r', 'p', 'v') and not c.relispartition
    union all
    -- An older service omits a new column, so it must be nullable or have a default.
    select format('may be left out %s.%s.%s', n.nspname, c.relname, a.attname)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where n.nspname in (${SCHEMAS}) and c.relkind in ('r', 'p', 'v') and not c.relispartition
      and (not a.attnotnull or a.atthasdef or a.attidentity <> '' or a.attgenerated <> '')
    union all
    select format('function %s answers %s', f.oid::regprocedure, pg_get_function_result(f.oid)) from pg_proc f join pg_namespace n on n.oid = f.pronamespace
    where n.nspname in (${SCHEMAS}) and f.prorettype <> 'trigger'::regtype`);
  return new Set(rows.map(({ line }) => line));
}

/** The table of each column. */
const columnsOf = (promises: ReadonlySet<string>): ReadonlyMap<string, string> =>
  new Map(
    [...promises].flatMap((line) => {
      const [, column, table] = /^column ((\S+)\.\S+) /.exec(line) ?? [];
      return column === undefined || table === undefined ? [] : [[column, table] as const];
    }),
  );

describe('additive migrations', () => {
  test('later migrations keep the rights, functions and columns of the previous version', async () => {
    const url = await aDatabase();
    await migrate(url, { migrations: BASELINE });
    const admin = await connect(url);
    let before = await promisesOf(admin);
    for (const [place, { name }] of WITH_EXAMPLE.entries()) {
      if (place === 0) continue;
      await migrate(url, { migrations: WITH_EXAMPLE.slice(0, place + 1) });
      const after = await promisesOf(admin);
      const taken = TAKEN[name] ?? [];
      const gone = [...before].filter(
        (line) => !after.has(line) && !taken.some((pattern) => pattern.test(line)),
      );
      expect({ name, gone }).toEqual({ name, gone: [] });
      for (const pattern of taken)
        expect([...before].some((line) => pattern.test(line) && !after.has(line))).toBe(true);
      const columnsBefore = columnsOf(before);
      const tablesBefore = new Set(columnsBefore.values());
      const required = [...columnsOf(after)].flatMap(([column, table]) =>
        tablesBefore.has(table) && !columnsBefore.has(column) && !after.has(`may be left out ${column}`)
          ? [column]
          : [],
      );
      expect({ name, required }).toEqual({ name, required: [] });
      before = after;
    }
  });
});

const WALLET = '0x00000000000000000000000000000000000000aa';
const TOKEN = '0x00000000000000000000000000000000000dec06';
const soon = () => new Date(Date.now() + 600_000).toISOString();
const hash = () => `0x${randomBytes(32).toString('hex')}`;

async function create(api: pg.Client, orderType: 'COLLECTION' | 'PAYOUT'): Promise<string> {
  const isPayout = orderType === 'PAYOUT';
  const order = {
    orderPk: randomUUID(),
    merchantId: 'm',
    orderId: randomUUID(),
    orderType,
    chain: 'ETH',
    family: 'EVM',
    symbol: 'USDT',
    contractAddress: TOKEN,
    decimals: 6,
    displayDecimals: 2,
    amount: '100',
    acceptedAmount: '100',
    address: `0x${randomBytes(20).toString('hex')}`,
    ...(isPayout ? { sourceAddress: WALLET } : { confirmationsRequired: 3 }),
    createdAt: new Date().toISOString(),
    expiresAt: soon(),
  };
  const content = { orderId: order.orderId, status: 'INIT', actualAmount: null, transaction: null };
  const item = {
    order,
    nonce: randomUUID(),
    nonceExpiresAt: soon(),
    notificationId: randomUUID(),
    notificationData: JSON.stringify(content),
    events: [{ eventId: randomUUID(), routingKey: 'k', payload: '{}' }],
  };
  if (isPayout) {
    const { rows } = await api.query<{ outcome: string }>('select outcome from create_payout($1)', [item]);
    expect(rows).toEqual([{ outcome: 'CREATED' }]);
    return order.orderPk;
  }
  const { rows: index } = await api.query<{ n: string }>("select nextval('deposit_index_evm') as n");
  const { rows } = await api.query<{ outcome: string }>('select outcome from create_collections($1)', [
    JSON.stringify([{ ...item, derivationIndex: Number(index[0]!.n) }]),
  ]);
  expect(rows).toEqual([{ outcome: 'CREATED' }]);
  return order.orderPk;
}

async function sign(signer: pg.Client, orderPk: string, nonce: number, txHash: string): Promise<void> {
  await signer.query('begin');
  await signer.query(
    `update payout set state = 'AUTHORISED', authorised_at = clock_timestamp(), version = version + 1, updated_at = now() where order_pk = $1 and state = 'REQUESTED'`,
    [orderPk],
  );
  await signer.query(
    `insert into wallet_nonce (chain, wallet, nonce, state, order_pk) values ('ETH', '${WALLET}', $1, 'RESERVED', $2)`,
    [nonce, orderPk],
  );
  await signer.query('commit');
  await signer.query('begin');
  const signed = await signer.query(
    `update payout set state = 'SIGNED', version = version + 1, updated_at = now() where order_pk = $1 and state = 'AUTHORISED' and expires_at > clock_timestamp()`,
    [orderPk],
  );
  expect(signed.rowCount).toBe(1);
  await signer.query(
    `update wallet_nonce set state = 'SIGNED', updated_at = now() where chain = 'ETH' and wallet = '${WALLET}' and nonce = $1 and state = 'RESERVED'`,
    [nonce],
  );
  await signer.query(
    `insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw, fee_terms, signed_at)
     values ('ETH', $1, 'EVM', '${WALLET}', $2, 'PAYOUT', $3, '${TOKEN}', '0xto', 100, '\\x02', '{}', now())`,
    [txHash, nonce, orderPk],
  );
  await signer.query('commit');
  await signer.query(
    `update own_transaction set first_sent_at = now(), last_sent_at = now(), send_outcome = 'ACCEPTED' where chain = 'ETH' and tx_hash = $1`,
    [txHash],
  );
  await signer.query(
    'update payout set first_sent_at = now(), version = version + 1, updated_at = now() where order_pk = $1',
    [orderPk],
  );
}

test('services of the previous version pay each payout once during a migration', async () => {
  const url = await aDatabase();
  await migrate(url, { migrations: BASELINE });
  const admin = await connect(url);
  await admin.query(
    `insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed) values ('m', 'm', 'V3', '', '')`,
  );
  await admin.query(`insert into hot_wallet (family, address) values ('EVM', '${WALLET}')`);
  await admin.query("select book_top_up('ETH:0x1:USDT', 'ETH', 'USDT', 1000000000)");

  let working = true;
  let slowestMs = 0;
  const errors: unknown[] = [];
  const loop = async (role: ServiceSchema, work: (client: pg.Client) => Promise<unknown>) => {
    const client = await connect(roleUrl(url, role));
    while (working) {
      const began = performance.now();
      await work(client).catch(async (error: unknown) => {
        errors.push(role, error, (error as pg.DatabaseError).detail);
        await client.query('rollback');
      });
      slowestMs = Math.max(slowestMs, performance.now() - began);
    }
  };
  const rest = () => new Promise((resolve) => setTimeout(resolve, 2));
  const queues = {
    created: [] as string[],
    signed: [] as { orderPk: string; txHash: string }[],
    landed: [] as string[],
    paid: [] as string[],
  };
  let nonce = 0;
  let collections = 0;
  const loops = [
    loop('api', async (api) => queues.created.push(await create(api, 'PAYOUT'))),
    loop('api', async (api) => create(api, 'COLLECTION').then(() => (collections += 1))),
    loop('signer', async (signer) => {
      const orderPk = queues.created[nonce];
      if (orderPk === undefined) return rest();
      const txHash = hash();
      await sign(signer, orderPk, nonce, txHash);
      nonce += 1;
      queues.signed.push({ orderPk, txHash });
      return undefined;
    }),
    loop('scanner_evm', async (scanner) => {
      const next = queues.signed[queues.landed.length];
      if (next === undefined) return rest();
      await scanner.query(
        `insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded, delivered, network_fee)
         values ('ETH', $1, 'EVM', 1, '0x', now(), 'VERIFIED', true, 100, 5)`,
        [next.txHash],
      );
      return queues.landed.push(next.orderPk);
    }),
    loop('tracker', async (tracker) => {
      const orderPk = queues.landed[queues.paid.length];
      if (orderPk === undefined) return rest();
      await tracker.query('begin');
      await tracker.query('select expire_payouts($1::uuid[])', [[orderPk]]);
      const { rows } = await tracker.query<{ became: string }>(
        'select became from settle_payout_money($1::uuid[])',
        [[orderPk]],
      );
      expect(rows).toEqual([{ became: 'PAID_OUT' }]);
      await tracker.query(
        `update orders set status = 'SUCCESS', actual_amount = 100, version = version + 1, updated_at = now() where order_pk = $1`,
        [orderPk],
      );
      await tracker.query('commit');
      return queues.paid.push(orderPk);
    }),
  ];
  await waitUntil('all are at work', () => queues.paid.length > 5 && collections > 5);
  // A session keeps locks that the migration needs: it gives up and retries, and no service waits behind it.
  const holder = await connect(roleUrl(url, 'signer'));
  await holder.query('begin; select count(*) from wallet_nonce; select count(*) from payout');
  const migrated = migrate(url, { migrations: WITH_EXAMPLE, waitMs: 300_000 });
  await untilMigrationWaits(admin);
  const meanwhile = queues.paid.length;
  await waitUntil('nobody is held up for as long as he holds on', () => queues.paid.length > meanwhile + 5);
  await holder.query('commit');
  expect(await migrated).toEqual(SINCE_BASELINE);
  const before = queues.paid.length;
  await waitUntil('all are at work on the new schema', () => queues.paid.length > before + 5);
  working = false;
  await Promise.all(loops);

  expect(errors).toEqual([]);
  expect(slowestMs).toBeLessThan(30_000);
  const { rows } = await admin.query(`select
    (select count(*)::int from payout where money = 'PAID_OUT') as paid,
    (select count(*)::int from wallet_nonce where state = 'SIGNED') as nonces,
    (select (-balance)::int from ledger_account where kind = 'OWNER') as owner,
    (select sum(balance)::int from ledger_account where kind in ('HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT')) as hot`);
  expect(rows).toEqual([
    {
      paid: queues.paid.length,
      nonces: nonce,
      owner: 1_000_000_000,
      hot: 1_000_000_000 - 100 * queues.paid.length,
    },
  ]);
  console.info(
    `${queues.paid.length} payouts and ${collections} collections beside ${SINCE_BASELINE.join()}, the longest held up for ${slowestMs.toFixed(0)} ms`,
  );
});
