import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { holdAfterRestore } from '@opentill/db/backup/hold-after-restore';
import { importDatabase } from '@opentill/db/backup/import-database';
import { MANIFEST_FILE, parseManifest } from '@opentill/db/backup/manifest';
import { openDatabase, type Database, type Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import { migrate } from '@opentill/db/migrate';
import { MIGRATIONS } from '@opentill/db/migrations';
import { appendToOutbox, newEvent } from '@opentill/db/outbox';
import { roleUrl } from '@opentill/db/roles';
import { aFate, aReservedPayout, aSignedPayout } from '@opentill/testkit/payout-scenario';
import { aChainCursor, aCollection, aMerchant, anEvmAddress, aTransfer } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createKeystore } from '@opentill/wallet/keystore';
import { parseMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { publicKeysOf, writePublicKeys } from '@opentill/wallet/public-keys';
import pg from 'pg';
import { sql } from 'kysely';
import { TEST_NETWORKS } from '../../ops/test/support/test-ops.ts';
import { runCli } from '../src/run-cli.ts';

const PASSPHRASE = 'a passphrase of the tests';
const COST = 2;
/** Between the database's clock and the clock of the tests. */
const CLOCKS_DIFFER_MS = 5_000;
const SEED = seedOf(
  parseMnemonic('legal winner thank year wave sausage worth useful legal winner thank yellow'),
);
const KEYS = publicKeysOf(SEED, [evmAddressCodec]);
const MAIN_NETWORK = { ...TEST_NETWORKS[0]!, chain: 'ETH', chainId: 1 };
const HOT_WALLET = KEYS.main.EVM.hotWallets[0]!;

let folder: string;
let testDatabase: TestDatabase;
let admin: Database;
let server: pg.Client;
const emptyOnes: string[] = [];
const opened: Database[] = [];
const path = (...parts: string[]) => join(folder, ...parts);
const wallet = () => ({
  KEYSTORE_FILE: path('keystore.json'),
  POLICY_FILE: path('policy.json'),
  PUBLIC_KEYS_FILE: path('public-keys.json'),
  NETWORKS_FILE: path('networks.json'),
});

async function opentill(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const out: string[] = [];
  const errors: string[] = [];
  const code = await runCli(args, {
    env,
    clock: { now: () => new Date() },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => '',
    keystoreCost: COST,
  });
  return { code, out: out.join('\n'), errors: errors.join('\n') };
}

async function createDatabase(): Promise<string> {
  const name = `opentill_test_${Math.floor(Date.now() / 1_000)}_${randomBytes(6).toString('hex')}`;
  await server.query(`create database ${name}`);
  emptyOnes.push(name);
  const url = new URL(testDatabase.adminUrl);
  url.pathname = `/${name}`;
  return url.toString();
}

function open(url: string): Db {
  const database = openDatabase({ url, applicationName: 'test', poolMax: 2 });
  opened.push(database);
  return database.kysely;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-backup-'));
  testDatabase = await createTestDatabase();
  admin = testDatabase.open('admin');
  server = new pg.Client({ connectionString: process.env['OPENTILL_TEST_DATABASE_URL'] });
  await server.connect();
  await createKeystore(
    path('keystore.json'),
    { purpose: 'seed', keyId: KEYS.fingerprint, secret: SEED },
    PASSPHRASE,
    { cost: COST },
  );
  await createKeystore(
    path('policy.json'),
    { purpose: 'policy', keyId: KEYS.fingerprint, secret: Buffer.from('{}') },
    PASSPHRASE,
    { cost: COST },
  );
  await writePublicKeys(path('public-keys.json'), KEYS);
  writeFileSync(path('networks.json'), JSON.stringify({ networks: [MAIN_NETWORK] }));
});
afterAll(async () => {
  for (const database of opened) await database.close();
  await admin.close();
  await testDatabase.drop();
  for (const name of emptyOnes) await server.query(`drop database ${name} with (force)`);
  await server.end();
  rmSync(folder, { recursive: true, force: true });
});

const ofRow = { chain: 'ETH_SEPOLIA', source_address: HOT_WALLET } as const;

async function populate(db: Db): Promise<void> {
  const { merchantId } = await aMerchant(db, { name: 'Tab\there, line\nend, back\\slash, \\N and “Grüße”' });
  await aChainCursor(db, { seen_height: 90, verified_height: 80, head_height: 92 });
  for (let i = 0; i < 20; i += 1) await aTransfer(db, await aCollection(db, { merchant_id: merchantId }));
  const paid = await aSignedPayout(db, { ...ofRow, merchant_id: merchantId }, { sent: true });
  await aFate(db, paid.transaction, 'VERIFIED');
  await sql`update wallet_nonce set state = 'FINAL' where nonce = 0`.execute(db);
  await sql`select settle_payout_money(${[paid.order.order_pk]}::uuid[])`.execute(db);
  await aSignedPayout(db, { ...ofRow, merchant_id: merchantId });
  const authorised = await aReservedPayout(db, { ...ofRow, merchant_id: merchantId });
  await sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${authorised.order_pk}`.execute(
    db,
  );
  await sql`insert into wallet_nonce (chain, wallet, nonce, state, order_pk)
    values ('ETH_SEPOLIA', ${HOT_WALLET}, 2, 'RESERVED', ${authorised.order_pk})`.execute(db);
  await aReservedPayout(db, { ...ofRow, merchant_id: merchantId });
  await sql`insert into tracker.inbox (consumer, event_id) select 'c', gen_random_uuid() from generate_series(1, 50)`.execute(
    db,
  );
  await db
    .transaction()
    .execute(async (tx) =>
      appendToOutbox(tx, 'api', [
        newEvent(
          'payout.requested',
          'EVM',
          { orderPk: paid.order.order_pk },
          { newId: randomUUID, clock: { now: () => new Date() } },
        ),
      ]),
    );
}

async function contentsOf(db: Db): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; columns: string }>`
    select c.oid::regclass::text as name, (select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attname <> 'written_by') as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_' and c.relkind in ('r', 'p')
      and not c.relispartition and c.relname <> 'schema_migration'`.execute(db);
  const contents = new Map<string, string>();
  for (const { name, columns } of rows) {
    const {
      rows: [all],
    } = await sql<{ rows: string }>`
      select coalesce(string_agg(r, ${'\n'} order by r), '') as rows
      from (select row(${sql.raw(columns)})::text as r from ${sql.raw(name)}) t`.execute(db);
    contents.set(name, all?.rows ?? '');
  }
  return contents;
}

const CHANGED_BY_RESTORE = [
  'incident',
  'restoration',
  'skipped_index',
  'restore_hold',
  'doubtful_payout',
  'wallet_halt',
  'audit_entry',
  'signer.lease',
  'payout',
  'wallet_nonce',
];

describe('opentill backup and restore', () => {
  let restoredUrl: string;
  let restored: Db;
  const backup = () => path('backup');
  let begunMs: number;
  let endedMs: number;

  beforeAll(async () => {
    await populate(admin.kysely);
  });

  it('takes one snapshot of a running gateway, readable only by its owner', async () => {
    const before = await contentsOf(admin.kysely);
    const env = { ...wallet(), DATABASE_ADMIN_URL: testDatabase.adminUrl };
    begunMs = Date.now();
    const { running, later } = await admin.kysely.transaction().execute(async (tx) => {
      // Tables that refer to it, and transfers, are read later.
      await sql`lock table merchant in access exclusive mode`.execute(tx);
      const backingUp = opentill(['backup', '--out', backup()], env);
      await waitUntil('the backup has its snapshot and waits for the table', async () => {
        const waits = sql`select from pg_locks where not granted and relation = 'merchant'::regclass
          and database = (select oid from pg_database where datname = current_database())`;
        return (await waits.execute(tx)).rows.length === 1;
      });
      // In an object, because the transaction must end first.
      return { running: { ended: backingUp }, later: await aTransfer(tx, await aCollection(tx)) };
    });
    const run = await running.ended;
    endedMs = Date.now();
    const transfers = readdirSync(path('backup', 'tables')).find((file) => /-transfer\.copy/.test(file))!;
    const kept = gunzipSync(readFileSync(path('backup', 'tables', transfers))).toString();
    expect(kept.trim().split('\n')).toHaveLength(20);
    expect(kept).not.toContain(later.tx_hash);
    expect(run).toMatchObject({ code: 0, errors: '' });
    expect(run.out).toContain(`seed ${KEYS.fingerprint}`);

    const files = readdirSync(backup(), { recursive: true, encoding: 'utf8' });
    for (const file of files) {
      const { mode } = statSync(path('backup', file));
      expect([file, (mode & 0o777).toString(8)]).toEqual([file, file === 'tables' ? '700' : '600']);
      const isFile = statSync(path('backup', file)).isFile();
      expect(isFile ? readFileSync(path('backup', file), 'latin1') : '').not.toContain(PASSPHRASE);
    }
    expect((statSync(backup()).mode & 0o777).toString(8)).toBe('700');
    expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
    expect(readFileSync(path('backup', 'keystore.json'), 'utf8')).toBe(
      readFileSync(path('keystore.json'), 'utf8'),
    );
    expect(before.get('orders')).not.toBe((await contentsOf(admin.kysely)).get('orders'));
  });

  it('restores every row in one transaction, together with the hold', async () => {
    restoredUrl = await createDatabase();
    const target = { keystore: path('new', 'keystore.json'), publicKeys: path('new', 'public-keys.json') };
    const run = await opentill(
      ['restore', '--from', backup(), '--keystore', target.keystore, '--public-keys', target.publicKeys],
      { DATABASE_ADMIN_URL: restoredUrl },
    );
    expect(run).toMatchObject({ code: 0, errors: '' });
    expect(readFileSync(target.keystore, 'utf8')).toBe(readFileSync(path('keystore.json'), 'utf8'));
    expect(statSync(target.keystore).mode & 0o777).toBe(0o600);
    restored = open(restoredUrl);

    const {
      rows: [snapshot],
    } = await sql<{ at: Date }>`select taken_at as at from restoration`.execute(restored);
    expect(snapshot!.at.getTime()).toBeGreaterThanOrEqual(begunMs - CLOCKS_DIFFER_MS);
    expect(snapshot!.at.getTime()).toBeLessThanOrEqual(endedMs + CLOCKS_DIFFER_MS);
    const [was, is] = [await contentsOf(admin.kysely), await contentsOf(restored)];
    for (const [table, rows] of is) {
      if (CHANGED_BY_RESTORE.includes(table)) continue;
      const old = new Set(was.get(table)!.split('\n'));
      expect([table, rows.split('\n').filter((row) => !old.has(row))]).toEqual([table, []]);
    }
    for (const table of [
      'ledger_posting',
      'ledger_account',
      'own_transaction',
      'own_transaction_fate',
      'tracker.inbox',
      'api.outbox',
      'hot_wallet',
    ])
      expect([table, is.get(table)]).toEqual([table, was.get(table)]);
    expect(await migrate(restoredUrl)).toEqual([]);
    const { rows: disabled } = await sql`select tgname from pg_trigger where tgenabled <> 'O'`.execute(
      restored,
    );
    expect(disabled).toEqual([]);
  });

  it('skips deposit indexes on restore and records which ones', async () => {
    const highest = async (db: Db) =>
      (await sql<{ n: number }>`select max(derivation_index) as n from deposit_address`.execute(db)).rows[0]!
        .n;
    const { rows: skipped } = await sql<{ family: string; from_index: number; to_index: number }>`
      select family, from_index, to_index from skipped_index order by family`.execute(restored);
    expect(skipped.map(({ family }) => family)).toEqual(['EVM', 'SUI', 'TRON']);
    const evm = skipped[0]!;
    expect(evm.from_index).toBe(0);
    expect(evm.to_index).toBeGreaterThan((await highest(admin.kysely)) + 1_900_000);
    await aCollection(restored);
    expect(await highest(restored)).toBe(evm.to_index);
  });

  it('gives no wallet to a signer and stops the clock of every unsigned payout', async () => {
    const signer = open(roleUrl(restoredUrl, 'signer'));
    const keeper = (holder: string, name: string) =>
      keepLease({ db: signer, schema: 'signer', name, holder, ttlMs: 1_000 });
    expect(await keeper('a', `wallet/ETH_SEPOLIA/${HOT_WALLET}`).acquire()).toBeUndefined();
    expect(await keeper('a', `wallet/BSC/${HOT_WALLET}`).acquire()).toBeUndefined();
    expect(await keeper('a', `wallet/ETH_SEPOLIA/${anEvmAddress()}`).acquire()).toBeDefined();
    const { rows } = await sql`
      select state, waiting_since is not null as waits, obstacle, count(*)::int as n from payout group by 1, 2, 3 order by 1`.execute(
      restored,
    );
    expect(rows).toEqual([
      { state: 'REQUESTED', waits: true, obstacle: 'MAYBE_PAID', n: 2 },
      { state: 'SIGNED', waits: false, obstacle: null, n: 2 },
    ]);
    const { rows: nonces } =
      await sql`select nonce, state, order_pk is not null as used from wallet_nonce order by nonce`.execute(
        restored,
      );
    expect(nonces).toEqual([
      { nonce: 0, state: 'FINAL', used: true },
      { nonce: 1, state: 'SIGNED', used: true },
      { nonce: 2, state: 'RESERVED', used: false },
    ]);
    const { rows: halts } = await sql`
      select h.halt_id = i.incident_id as same, i.closed_at from wallet_halt h
      left join incident i on i.incident_id = h.halt_id and i.kind = 'RESTORED' where h.released_at is null`.execute(
      restored,
    );
    expect(halts.length).toBeGreaterThan(0);
    expect(new Set(halts.map((halt) => JSON.stringify(halt)))).toEqual(
      new Set([JSON.stringify({ same: true, closed_at: null })]),
    );
    const tracker = open(roleUrl(restoredUrl, 'tracker'));
    await sql`update payout set expires_at = now() - interval '1 hour' where state = 'REQUESTED'`.execute(
      restored,
    );
    expect(
      (await sql`select expire_payouts(array(select order_pk from payout))`.execute(tracker)).rows,
    ).toEqual([]);
  });

  it('keeps a payout that is requested while its wallet is held, without expiry', async () => {
    const order = await aReservedPayout(restored, ofRow);
    const { rows } =
      await sql`select waiting_since is not null as waits from payout where order_pk = ${order.order_pk}`.execute(
        restored,
      );
    expect(rows).toEqual([{ waits: true }]);
  });

  it('refuses to restore into a database that is not empty or over existing files', async () => {
    const env = { DATABASE_ADMIN_URL: restoredUrl };
    expect(await opentill(['restore', '--from', backup()], env)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('not empty'),
    });
    const url = await createDatabase();
    const onto = ['restore', '--from', backup(), '--keystore', path('keystore.json')];
    expect(await opentill(onto, { DATABASE_ADMIN_URL: url })).toMatchObject({
      code: 1,
      errors: expect.stringContaining('not overwritten'),
    });
    expect((await sql`select from pg_class where relname = 'orders'`.execute(open(url))).rows).toEqual([]);
  });

  it('rejects damaged, missing and newer files and leaves no rows behind', async () => {
    const url = await createDatabase();
    const damage = async (name: string, how: (dir: string) => void, message: RegExp) => {
      const dir = path(name);
      cpSync(backup(), dir, { recursive: true });
      how(dir);
      const run = await opentill(['restore', '--from', dir, '--keystore', path(`${name}.keystore`)], {
        DATABASE_ADMIN_URL: url,
      });
      expect(run).toMatchObject({ code: 1, errors: expect.stringMatching(message) });
      expect(existsSync(path(`${name}.keystore`))).toBe(false);
    };
    const orders = (dir: string) =>
      join(
        dir,
        'tables',
        readdirSync(join(dir, 'tables')).find((f) => f.includes('-orders'))!,
      );
    const reseal = (dir: string, file: string, text: string | Buffer) => {
      writeFileSync(join(dir, file), text);
      const sums = readFileSync(join(dir, 'SHA256SUMS'), 'utf8')
        .split('\n')
        .map((line) =>
          line.endsWith(`  ${file}`) ? `${createHash('sha256').update(text).digest('hex')}  ${file}` : line,
        );
      writeFileSync(join(dir, 'SHA256SUMS'), sums.join('\n'));
    };
    const manifestOf = (dir: string) => readFileSync(join(dir, 'manifest.json'), 'utf8');
    await damage('flipped', (dir) => appendFileSync(orders(dir), 'x'), /orders.*differs from its checksum/);
    await damage('missing', (dir) => rmSync(orders(dir)), /cannot be read/);
    await damage(
      'edited',
      (dir) => writeFileSync(join(dir, 'manifest.json'), manifestOf(dir).replace('"format"', '"Format"')),
      /manifest.json differs from/,
    );
    await damage(
      'newer',
      (dir) =>
        reseal(
          dir,
          'manifest.json',
          manifestOf(dir).replace(`"${MIGRATIONS.at(-1)!.name}"`, '"0999-future"'),
        ),
      /0999-future/,
    );
    await damage(
      'short',
      (dir) =>
        reseal(dir, 'manifest.json', manifestOf(dir).replace(/("name": "transfer",[^}]*"rows": )\d+/, '$11')),
      /transfer has .* rows/,
    );
    // The kind of the wallets is not guessed.
    const mixed = { networks: [...TEST_NETWORKS, MAIN_NETWORK] };
    await damage('mixed', (dir) => reseal(dir, 'networks.json', JSON.stringify(mixed)), /different keys/);
    await damage('unread', (dir) => reseal(dir, 'networks.json', '{}'), /networks\.json/);
    expect((await sql`select from pg_class where relname = 'orders'`.execute(open(url))).rows).toEqual([]);
  });

  it('leaves out keys on request and rejects a file of words as keystore', async () => {
    const env = { ...wallet(), DATABASE_ADMIN_URL: testDatabase.adminUrl };
    const apart = await opentill(['backup', '--out', path('apart'), '--database-only'], env);
    expect(apart).toMatchObject({ code: 0, errors: '' });
    expect(readdirSync(path('apart')).toSorted()).toEqual([
      'SHA256SUMS',
      'manifest.json',
      'networks.json',
      'public-keys.json',
      'tables',
    ]);
    writeFileSync(path('words'), 'legal winner thank year', { mode: 0o600 });
    const words = await opentill(['backup', '--out', path('words-backup'), '--keystore', path('words')], env);
    expect(words).toMatchObject({ code: 1, errors: expect.stringContaining('not a keystore') });
    expect(existsSync(path('words-backup'))).toBe(false);
    expect(await opentill(['backup', '--out', backup()], env)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('already exists'),
    });
    const none = await opentill(['backup', '--out', path('none')], {
      DATABASE_ADMIN_URL: testDatabase.adminUrl,
    });
    expect(none).toMatchObject({ code: 1, errors: expect.stringContaining('--database-only') });
  });

  it('separates options of restore from those of its subcommands', async () => {
    const money = await opentill(['restore', 'money', '--public-keys', path('public-keys.json')]);
    expect(money).toMatchObject({ code: 1, errors: expect.stringContaining('NETWORKS_FILE') });
    const none = await opentill(['restore'], { DATABASE_ADMIN_URL: restoredUrl });
    expect(none).toMatchObject({ code: 1, errors: expect.stringContaining('--from') });
  });

  it('restores a backup into a version with more migrations', async () => {
    const old = await createDatabase();
    await migrate(old);
    await populateOld(open(old));
    expect(
      await opentill(['backup', '--out', path('old'), '--database-only'], { DATABASE_ADMIN_URL: old }),
    ).toMatchObject({ code: 0 });
    const url = await createDatabase();
    const manifest = parseManifest(readFileSync(path('old', MANIFEST_FILE), 'utf8'));
    const later = {
      name: '9999-later',
      sql: [
        "alter table orders add column later text not null default 'x'",
        'create index concurrently orders_later on orders (later)',
      ],
    };
    const plan = { restoreId: randomUUID(), manifest, jumps: [], wallets: [] };
    await importDatabase(url, path('old'), manifest, (client) => holdAfterRestore(client, plan), [
      ...MIGRATIONS,
      later,
    ]);
    expect((await sql`select from restore_hold`.execute(open(url))).rows.length).toBeGreaterThan(0);
    expect((await sql`select from orders where later = 'x'`.execute(open(url))).rows).toHaveLength(2);
    expect((await sql`select name from schema_migration order by name`.execute(open(url))).rows).toEqual(
      [...MIGRATIONS, later].map(({ name }) => ({ name })),
    );
  });

  it('rejects a backup of a version before 0.1.0', async () => {
    const made = parseManifest(readFileSync(join(backup(), MANIFEST_FILE), 'utf8'));
    const manifest = { ...made, migrations: [{ name: '0001-foundations', checksum: 'x' }] };
    await expect(
      importDatabase(await createDatabase(), backup(), manifest, () => Promise.resolve()),
    ).rejects.toMatchObject({
      code: 'BACKUP_OF_ANOTHER_VERSION',
      message: expect.stringContaining('a version before 0.1.0'),
    });
  });

  it('restores while setup runs, without affecting either', async () => {
    const url = await createDatabase();
    const results = await Promise.allSettled([
      opentill(['restore', '--from', backup()], { DATABASE_ADMIN_URL: url }),
      migrate(url, { waitMs: 300_000 }),
    ]);
    const [restore] = results;
    const run = restore.status === 'fulfilled' ? restore.value : undefined;
    const db = open(url);
    await waitUntil(
      'both are done',
      async () => (await sql`select from schema_migration`.execute(db)).rows.length === MIGRATIONS.length,
    );
    const restorations = (await sql`select from restoration`.execute(db)).rows.length;
    // Either the restore finished first, or setup did and the restore found a database that is not empty.
    expect([run?.code, restorations]).toEqual(
      run?.code === 0 ? [0, 1] : [run?.errors.includes('not empty') === true ? 1 : 75, 0],
    );
  });
});

async function populateOld(db: Db): Promise<void> {
  await aCollection(db);
  await aReservedPayout(db, ofRow);
}
