import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { queues } from '@opentill/contracts/topology';
import { openDatabase, type Database } from '@opentill/db/database';
import { openSecret, tokenAad, webhookSecretAad } from '@opentill/db/sealed-secret';
import { openKeystore } from '@opentill/wallet/keystore';
import { parseMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { parsePublicKeys, publicKeysOf, writePublicKeys } from '@opentill/wallet/public-keys';
import {
  aChainCursor,
  aCollection,
  aHash,
  aPayout,
  aTransfer,
  ONE_USDT,
  TEST_SECRETS_KEY,
  TEST_SECRETS_KEY_BASE64,
  type OrderRow,
} from '@opentill/testkit/scenario';
import { anOwnTransaction, aReservedPayout } from '@opentill/testkit/payout-scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startTestOps, type TestOps } from '../../ops/test/support/test-ops.ts';
import { FAMILY_CODECS } from '../src/families.ts';
import { runCli } from '../src/run-cli.ts';
import { runProcess } from './run-process.ts';

const NETWORKS_FILE = join(import.meta.dirname, '..', '..', '..', 'deploy', 'networks', 'local.json');
const PASSPHRASE = 'a passphrase of the tests';
const COST = 2;
/** Clears a terminal, starts a line, sets colours with one character (CSI), and reverses the writing direction. */
const EVIL = 'a\u001b[2J\nforged\u009b31m\u202eb';
const UNPRINTABLE = /[\p{Cc}\p{Cf}]/u;

let database: TestDatabase;
let admin: Database;
let ops: TestOps;
let directory: string;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = database.open('admin');
  directory = mkdtempSync(join(tmpdir(), 'opentill-cli-'));
  ops = await startTestOps(database);
  writeFileSync(join(directory, 'ops-token'), `${ops.tokens.ADMIN}\n`, { mode: 0o600 });
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await ops.stop();
  await admin.close();
  await database.drop();
});

interface Run {
  readonly code: number;
  readonly out: readonly string[];
  readonly errors: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const operator = (): Environment => ({
  OPS_URL: ops.url,
  OPS_TOKEN_FILE: join(directory, 'ops-token'),
  OPS_DATABASE_URL: database.url('ops'),
  NETWORKS_FILE,
});

interface RunOptions {
  readonly env?: Environment;
  readonly answers?: readonly string[];
  readonly now?: () => Date;
  readonly hasRealCost?: boolean;
}

async function opentill(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const out: string[] = [];
  const errors: string[] = [];
  const answers = [...(options.answers ?? [])];
  const code = await runCli(args, {
    env: options.env ?? operator(),
    clock: { now: options.now ?? (() => new Date()) },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => answers.shift() ?? '',
    ...(options.hasRealCost ? {} : { keystoreCost: COST }),
  });
  return { code, out, errors };
}

function expectRefusal(run: Run, code: 1 | 75, words: RegExp): void {
  expect(run.errors).toHaveLength(1);
  expect(run.errors[0]).toMatch(words);
  expect(run.errors[0]).not.toContain('\n');
  expect(run.errors[0]).toMatch(/^(opentill|error): \S/);
  expect(run.code).toBe(code);
}

describe('setup', () => {
  let empty: { url: string; drop(): Promise<void> };
  let broker: TestBroker;

  beforeAll(async () => {
    empty = await createEmptyDatabase();
    broker = await createTestBroker({ declare: false });
  });
  afterAll(async () => {
    await broker.drop();
    await empty.drop();
  });

  async function createEmptyDatabase() {
    const name = `opentill_test_${Math.floor(Date.now() / 1000)}_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
    const url = new URL(database.adminUrl);
    url.pathname = `/${name}`;
    await asOwner(database.adminUrl, `create database ${name}`);
    return {
      url: url.href,
      drop: async () => void (await asOwner(database.adminUrl, `drop database ${name}`)),
    };
  }

  async function asOwner(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
    const opened = openDatabase({ url, applicationName: 'test owner', poolMax: 1 });
    try {
      return (await sql.raw<Record<string, unknown>>(text).execute(opened.kysely)).rows;
    } finally {
      await opened.close();
    }
  }

  const settings = (): Environment => ({
    DATABASE_ADMIN_URL: empty.url,
    AMQP_URL: broker.url,
    SECRETS_KEY: TEST_SECRETS_KEY_BASE64,
    MERCHANT_TOKEN: 'token-of-the-settings-0123456789-0123456789',
    WEBHOOK_SECRET: 'secret-of-the-settings',
    CALLBACK_URL: 'https://shop.example/callbacks',
    RETURN_ORIGINS: 'https://shop.example, https://www.shop.example',
  });

  async function settingsMerchant() {
    const rows = await asOwner(empty.url, `select * from merchant`);
    expect(rows).toHaveLength(1);
    const row = rows[0]!;
    return {
      id: row['merchant_id'],
      version: row['version'],
      callbackUrl: row['callback_url'],
      returnOrigins: row['return_origins'],
      token: openSecret(TEST_SECRETS_KEY, row['token_sealed'] as Buffer, tokenAad('default')),
      secret: openSecret(
        TEST_SECRETS_KEY,
        row['webhook_secret_sealed'] as Buffer,
        webhookSecretAad('default'),
      ),
    };
  }

  /** Entries that no operator made, with the database user. */
  async function audited() {
    const rows = await asOwner(empty.url, 'select * from audit_entry order by entry_id');
    for (const row of rows) expect(row['operator']).toMatch(/^database:[a-z]/);
    return rows.map((row) => [row['action'], row['subject'], row['details']]);
  }

  it('rejects wrong settings before it changes the database', async () => {
    const wrong = { ...settings(), SECRETS_KEY: 'c2hvcnQ=' };
    expectRefusal(await opentill(['setup'], { env: wrong }), 1, /SECRETS_KEY must be 32 bytes in base64/);
    const without = { ...settings(), WEBHOOK_SECRET: '' };
    expectRefusal(await opentill(['setup'], { env: without }), 1, /MERCHANT_TOKEN needs WEBHOOK_SECRET/);
    const short = { ...settings(), MERCHANT_TOKEN: 'x' };
    expectRefusal(
      await opentill(['setup'], { env: short }),
      1,
      /MERCHANT_TOKEN has 1 characters; at least 32/,
    );
    const nowhere = { ...settings(), AMQP_PASSWORD_API: 'a-password' };
    expectRefusal(await opentill(['setup'], { env: nowhere }), 1, /AMQP_PASSWORD_… need AMQP_MANAGEMENT_URL/);
    const version = { ...settings(), MERCHANT_VERSION: 'V4', AMQP_URL: 'http://broker' };
    expectRefusal(
      await opentill(['setup'], { env: version }),
      1,
      /AMQP_URL.*MERCHANT_VERSION.*V2, V3|MERCHANT_VERSION.*V2, V3.*AMQP_URL/,
    );
    const rows = await asOwner(empty.url, `select tablename from pg_tables where schemaname = 'public'`);
    expect(rows).toEqual([]);
  });

  it('prints one line and exits with 75 when a server does not answer', async () => {
    const down = { ...settings(), DATABASE_ADMIN_URL: 'postgres://opentill@localhost:1/opentill' };
    expectRefusal(await opentill(['setup'], { env: down }), 75, /ECONNREFUSED/);
  });

  it('migrates, writes the merchant of the settings and declares every queue', async () => {
    const run = await opentill(['setup'], { env: settings() });
    expect(run).toMatchObject({ code: 0, errors: [] });
    expect(run.out).toEqual([
      expect.stringMatching(/^database: applied 0001-baseline/),
      'database: passwords set for 0 of 9 roles',
      'merchant: default (V3) written from the settings',
      'broker: queues declared, canary returned',
    ]);
    expect(await settingsMerchant()).toEqual({
      id: 'default',
      version: 'V3',
      callbackUrl: 'https://shop.example/callbacks',
      returnOrigins: ['https://shop.example', 'https://www.shop.example'],
      token: 'token-of-the-settings-0123456789-0123456789',
      secret: 'secret-of-the-settings',
    });
    expect(await audited()).toEqual([['setup', 'default', { created: true }]]);
    for (const { name, deadLetterQueue } of queues()) {
      expect(await broker.depth(name)).toBe(0);
      expect(await broker.depth(deadLetterQueue)).toBe(0);
    }
  });

  it('only updates the merchant when it runs again', async () => {
    const again = {
      ...settings(),
      MERCHANT_TOKEN: 'next-token-of-the-settings-0123456789-0123456789',
      CALLBACK_URL: '',
      MERCHANT_VERSION: 'V2',
    };
    const startedAt = Date.now();
    const run = await opentill(['setup'], { env: again });
    expect(run).toMatchObject({ code: 0, errors: [] });
    expect(run.out[0]).toBe('database: up to date');
    expect(run.out).toContain('merchant: default updated from the settings: token, version');
    expect(Date.now() - startedAt).toBeLessThan(60_000);
    expect(await settingsMerchant()).toMatchObject({
      token: 'next-token-of-the-settings-0123456789-0123456789',
      version: 'V2',
    });
    expect((await audited()).at(-1)).toEqual(['setup', 'default', { changed: ['token', 'version'] }]);
  });

  it('writes the users by another node of the broker when one does not answer', async () => {
    const users: string[] = [];
    const server = createServer((request, response) => {
      users.push(`${request.headers.authorization} ${request.url}`);
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const env = {
      DATABASE_ADMIN_URL: empty.url,
      AMQP_PASSWORD_API: 'a-password',
      AMQP_MANAGEMENT_URL: `http://admin@127.0.0.1:1,127.0.0.1:${port}`,
      AMQP_MANAGEMENT_PASSWORD: 'p@ss',
    };
    try {
      expect((await opentill(['setup'], { env })).out).toContain('broker: users written for 1 services');
      const admin = `Basic ${Buffer.from('admin:p@ss').toString('base64')}`;
      expect(users[0]).toBe(`${admin} /api/users/opentill-api`);
    } finally {
      server.close();
    }
    expectRefusal(await opentill(['setup'], { env }), 75, /RabbitMQ's HTTP API at .* does not answer/);
  });

  it('adds the hot wallets of the public key file and audits that once', async () => {
    const PUBLIC_KEYS_FILE = join(directory, 'public-keys.json');
    const keys = publicKeysOf(Buffer.alloc(64, 7), [evmAddressCodec]);
    await writePublicKeys(PUBLIC_KEYS_FILE, keys);
    const env = { DATABASE_ADMIN_URL: empty.url, PUBLIC_KEYS_FILE };
    const before = (await audited()).length;
    const [address] = keys.main.EVM.hotWallets;
    expect((await opentill(['setup'], { env })).out).toContain(`hot wallets: added ${address}`);
    expect((await opentill(['setup'], { env })).out).toContain('hot wallets: known');
    const { fingerprint } = keys;
    expect((await audited()).slice(before)).toEqual([
      ['setup', 'hot wallets', { added: [address], fingerprint }],
    ]);
  });

  it('rejects test networks on a database with the hot wallet of main networks', async () => {
    const env = {
      DATABASE_ADMIN_URL: empty.url,
      PUBLIC_KEYS_FILE: join(directory, 'public-keys.json'),
      NETWORKS_FILE: join(import.meta.dirname, '../../../deploy/networks/local.json'),
    };
    const run = await opentill(['setup'], { env });
    expectRefusal(run, 1, /has the hot wallet of main networks \(0x.*Run test networks on a new database\./);
  });

  it('keeps values that the settings leave out', async () => {
    const before = await settingsMerchant();
    const { CALLBACK_URL, RETURN_ORIGINS, ...rest } = settings();
    expect([CALLBACK_URL, RETURN_ORIGINS]).not.toContain(undefined);
    const same = {
      ...rest,
      AMQP_URL: '',
      MERCHANT_TOKEN: 'next-token-of-the-settings-0123456789-0123456789',
    };
    const run = await opentill(['setup'], { env: same });
    expect(run.out.at(-1)).toBe('merchant: default matches the settings');
    expect(await settingsMerchant()).toEqual(before);
    expect(before.callbackUrl).toBe('https://shop.example/callbacks');
  });

  it('rejects return origins that no returnUrl can have', async () => {
    for (const RETURN_ORIGINS of ['https://shop.example/', 'https://shop.example:443', 'shop.example']) {
      const run = await opentill(['setup'], { env: { ...settings(), RETURN_ORIGINS } });
      expectRefusal(run, 1, /RETURN_ORIGINS must be an origin/);
    }
  });

  it('reads secrets from files and rejects a variable set directly and by file', async () => {
    const file = join(directory, 'token');
    writeFileSync(file, 'token-from-a-file-0123456789-0123456789\n');
    const env = { ...settings(), MERCHANT_TOKEN: undefined, MERCHANT_TOKEN_FILE: file, AMQP_URL: '' };
    expect(await opentill(['setup'], { env })).toMatchObject({ code: 0, errors: [] });
    expect(await settingsMerchant()).toMatchObject({ token: 'token-from-a-file-0123456789-0123456789' });
    const twice = { ...settings(), MERCHANT_TOKEN_FILE: file };
    expectRefusal(
      await opentill(['setup'], { env: twice }),
      1,
      /MERCHANT_TOKEN is set directly and by MERCHANT_TOKEN_FILE/,
    );
  });
});

describe('opentill merchant', () => {
  const stored = async (id: string) =>
    admin.kysely.selectFrom('merchant').selectAll().where('merchant_id', '=', id).executeTakeFirstOrThrow();

  it('creates a merchant with secrets that are shown once and stored sealed', async () => {
    const args = ['merchant', 'create', '--id', 'books', '--name', 'Book shop'];
    const run = await opentill([...args, '--callback-url', 'https://books.example/hook']);
    expect(run).toMatchObject({ code: 0, errors: [] });
    const shown = new Map(run.out.map((line) => line.split(/ {2,}/) as [string, string]));
    const row = await stored('books');
    expect(openSecret(TEST_SECRETS_KEY, row.token_sealed, tokenAad('books'))).toBe(shown.get('token'));
    expect(openSecret(TEST_SECRETS_KEY, row.webhook_secret_sealed, webhookSecretAad('books'))).toBe(
      shown.get('webhook secret'),
    );
    expect(shown.get('token')).toMatch(/^\S{32,}$/);
    expect(shown.get('base URL')).toBe('/m/books, after the address of the API');
    expect(row).toMatchObject({
      name: 'Book shop',
      version: 'V3',
      callback_url: 'https://books.example/hook',
    });
    expectRefusal(await opentill(args), 1, /Merchant books already exists/);
    expect((await stored('books')).token_sealed).toEqual(row.token_sealed);
  });

  it('lists merchants without secrets', async () => {
    await opentill(['merchant', 'create', '--id', 'listed', '--merchant-version', 'V2']);
    const { out, code } = await opentill(['merchant', 'list']);
    expect(code).toBe(0);
    expect(out).toContain('listed\tV2\tenabled\t-\tlisted');
    expect(out.join('\n')).not.toMatch(/[0-9a-f]{32}/);
  });

  it('changes only the given settings', async () => {
    await opentill(['merchant', 'create', '--id', 'tuned', '--callback-url', 'https://a.example/hook']);
    const before = await stored('tuned');
    const given = '--sign-version 2 --order-ttl-seconds 600 --tolerance-bps 50 --late-grace-seconds 60'.split(
      ' ',
    );
    const origins = ['--return-origin', 'https://a.example', 'https://b.example'];
    const run = await opentill([
      'merchant',
      'set',
      'tuned',
      ...given,
      ...origins,
      '--notify-reverted',
      '--disabled',
    ]);
    expect(run).toMatchObject({ code: 0, errors: [] });
    const after = await stored('tuned');
    expect(after).toEqual({
      ...before,
      sign_version: 2,
      order_ttl_seconds: 600,
      underpayment_tolerance_bps: 50,
      late_grace_seconds: 60,
      return_origins: ['https://a.example', 'https://b.example'],
      notify_reverted: true,
      enabled: false,
      updated_at: expect.any(Date),
    });
    expect(after.updated_at.getTime()).toBeGreaterThan(before.updated_at.getTime());
    await opentill([
      'merchant',
      'set',
      'tuned',
      '--callback-url',
      'none',
      '--enabled',
      '--no-notify-reverted',
    ]);
    expect(await stored('tuned')).toMatchObject({
      callback_url: null,
      enabled: true,
      notify_reverted: false,
    });
  });

  it('sets, shows and removes what the checkout page shows', async () => {
    await opentill(['merchant', 'create', '--id', 'seen']);
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z"/></svg>';
    const file = join(directory, 'logo.svg');
    writeFileSync(file, svg);
    const profile = `--logo ${file} --accent-color #1F6FEB --support-url https://a.example/help`.split(' ');
    const more = '--support-email help@a.example --shop-url https://a.example --notify-unmatched'.split(' ');
    const set = await opentill(['merchant', 'set', 'seen', '--name', 'Acme Cloud', ...profile, ...more]);
    expect(set).toMatchObject({ code: 0, errors: [] });
    expect(await stored('seen')).toMatchObject({ logo: Buffer.from(svg), logo_type: 'image/svg+xml' });
    const shown = await opentill(['merchant', 'show', 'seen']);
    expect(shown.out).toEqual(
      expect.arrayContaining([
        'name              Acme Cloud',
        expect.stringMatching(/^logo {14}image\/svg\+xml, SHA-256 [0-9a-f]{64}$/),
        'accent colour     #1f6feb',
        'support URL       https://a.example/help',
        'support mail      help@a.example',
        'shop URL          https://a.example',
        'opt-in callbacks  ORDER_UNMATCHED',
      ]),
    );
    const none = '--logo none --accent-color none --support-url none --support-email none --shop-url none';
    await opentill(['merchant', 'set', 'seen', ...none.split(' '), '--no-notify-unmatched']);
    expect(await stored('seen')).toMatchObject({
      name: 'Acme Cloud',
      logo: null,
      accent_color: null,
      support_email: null,
      notify_unmatched: false,
    });
    writeFileSync(file, svg.replace('<path', '<script/><path'));
    expectRefusal(await opentill(['merchant', 'set', 'seen', '--logo', file]), 1, /the element script/);
    expectRefusal(await opentill(['merchant', 'set', 'seen', '--accent-color', 'red']), 1, /#1f6feb/);
  });

  it('rotates the token or the webhook secret and keeps the other', async () => {
    await opentill(['merchant', 'create', '--id', 'rotated']);
    const before = await stored('rotated');
    const run = await opentill(['merchant', 'rotate', 'rotated', 'token']);
    const after = await stored('rotated');
    const token = openSecret(TEST_SECRETS_KEY, after.token_sealed, tokenAad('rotated'));
    expect(run.out).toEqual([`new token of rotated: ${token}`]);
    expect(token).not.toBe(openSecret(TEST_SECRETS_KEY, before.token_sealed, tokenAad('rotated')));
    expect(after.webhook_secret_sealed).toEqual(before.webhook_secret_sealed);
    await opentill(['merchant', 'rotate', 'rotated', 'webhook-secret']);
    expect((await stored('rotated')).webhook_secret_sealed).not.toEqual(before.webhook_secret_sealed);
  });

  it.each([
    [['merchant', 'create', '--id', 'no spaces'], /no spaces/],
    [['merchant', 'create', '--id', 'x', '--merchant-version', 'V4'], /V2 or V3/],
    [['merchant', 'create', '--id', 'x', '--callback-url', 'ftp://x'], /callback-url/],
    [
      ['merchant', 'create', '--id', 'x', '--return-origin', 'https://x.example/'],
      /return-origin must be an origin/,
    ],
    [['merchant', 'create'], /--id/],
    [['merchant', 'rotate', 'default', 'token'], /change MERCHANT_TOKEN and run setup/],
    [['merchant', 'set', 'books'], /Give at least one change/],
    [['merchant', 'set', 'nobody', '--enabled'], /no merchant nobody/],
    [['merchant', 'set', 'books', '--enabled', '--disabled'], /Give either --enabled or --disabled/],
    [
      ['merchant', 'set', 'books', '--order-ttl-seconds', '59'],
      /order-ttl-seconds must be a whole number from 60/,
    ],
    [['merchant', 'set', 'books', '--tolerance-bps', '1.5'], /tolerance-bps must be a whole number/],
    [
      ['merchant', 'set', 'books', '--return-origin', 'https://x.example/a'],
      /return-origin must be an origin/,
    ],
    [['merchant', 'rotate', 'nobody', 'token'], /no merchant nobody/],
    [['merchant', 'rotate', 'books', 'name'], /token or webhook-secret/],
  ])('rejects %j', async (args, words) => {
    expectRefusal(await opentill(args), 1, words);
  });

  it('rejects missing or unsafe settings of the ops service', async () => {
    const { OPS_URL, ...without } = operator();
    expect(OPS_URL).toBeDefined();
    expectRefusal(await opentill(['merchant', 'list'], { env: without }), 1, /OPS_URL is missing/);
    const down = { ...operator(), OPS_URL: 'http://127.0.0.1:2' };
    expectRefusal(await opentill(['merchant', 'list'], { env: down }), 75, /does not answer.*ECONNREFUSED/);
    const open = { ...operator(), OPS_URL: 'http://ops.example' };
    expectRefusal(await opentill(['merchant', 'list'], { env: open }), 1, /OPS_URL must be https/);
    const allowed = await opentill(['merchant', 'list'], { env: { ...open, ALLOW_HTTP_OPS: 'true' } });
    expectRefusal(allowed, 75, /does not answer/);
    const file = join(directory, 'open-token');
    writeFileSync(file, `ada.${'x'.repeat(43)}`, { mode: 0o644 });
    const readable = { ...operator(), OPS_TOKEN_FILE: file };
    expectRefusal(await opentill(['merchant', 'list'], { env: readable }), 1, /must not be open to others/);
    chmodSync(file, 0o600);
    expectRefusal(await opentill(['merchant', 'list'], { env: readable }), 1, /token is unknown/);
    for (const secret of ['twelve junk words', 'junk\njunk', 'Xylophon-Quark-7731']) {
      writeFileSync(file, secret);
      const run = await opentill(['merchant', 'list'], { env: readable });
      expectRefusal(run, 1, /does not contain an operator's token/);
      expect(JSON.stringify(run)).not.toMatch(/junk|Quark/);
    }
  });
});

describe('opentill keys init', () => {
  let keystore: string;
  let publicKeys: string;
  let passphraseFile: string;
  let args: string[];

  beforeEach(() => {
    const folder = mkdtempSync(join(directory, 'keys-'));
    keystore = join(folder, 'keystore.json');
    publicKeys = join(folder, 'public-keys.json');
    passphraseFile = join(folder, 'passphrase');
    writeFileSync(passphraseFile, `${PASSPHRASE}\n`, { mode: 0o600 });
    args = ['keys', 'init', '--keystore', keystore, '--public-keys', publicKeys];
  });

  const wordsOf = (out: readonly string[]) =>
    out.flatMap((line) => /^ +\d+ {2}(?<word>[a-z]+)$/.exec(line)?.groups?.['word'] ?? []).join(' ');

  it('writes the words into a new file of their owner and prints none of them', async () => {
    const wordsTo = join(mkdtempSync(join(directory, 'words-')), 'words.txt');
    const withWordsTo = [...args, '--passphrase-file', passphraseFile, '--words-to', wordsTo];
    const run = await opentill(withWordsTo);
    expect(run).toMatchObject({ code: 0, errors: [] });
    const words = parseMnemonic(readFileSync(wordsTo, 'utf8'));
    expect(words.split(' ')).toHaveLength(24);
    expect(statSync(wordsTo).mode & 0o777).toBe(0o600);
    expect(run.out[0]).toBe(
      `The 24 words are in ${wordsTo}. They control the money: write them on paper, then remove the file.`,
    );
    const rows = words.split(' ').map((word) => new RegExp(`^ +\\d+ +${word}$`));
    expect(run.out.filter((line) => rows.some((row) => row.test(line)))).toEqual([]);
    const { secret } = await openKeystore(keystore, 'seed', PASSPHRASE, COST);
    expect(Buffer.from(secret)).toEqual(Buffer.from(seedOf(words)));
    rmSync(keystore);
    rmSync(publicKeys);
    expectRefusal(await opentill(withWordsTo), 1, /words\.txt already exists and is not overwritten/);
    expect(existsSync(keystore)).toBe(false);
  });

  it('creates a keystore, public keys and 24 words that belong together', async () => {
    const run = await opentill([...args, '--passphrase-file', passphraseFile], {
      env: {},
      hasRealCost: true,
    });
    expect(run).toMatchObject({ code: 0, errors: [] });
    const words = wordsOf(run.out);
    expect(words.split(' ')).toHaveLength(24);
    const { secret } = await openKeystore(keystore, 'seed', PASSPHRASE);
    expect(Buffer.from(secret)).toEqual(Buffer.from(seedOf(parseMnemonic(words))));
    const written = parsePublicKeys(readFileSync(publicKeys, 'utf8'), FAMILY_CODECS);
    expect(written).toEqual(publicKeysOf(secret, FAMILY_CODECS));
    expect(run.out).toContain(`Hot wallet EVM: ${written.main.EVM.hotWallets[0]}`);
    expect(statSync(keystore).mode & 0o777).toBe(0o600);
    expect(readFileSync(keystore, 'utf8') + readFileSync(publicKeys, 'utf8')).not.toContain(words);
  });

  it('asks for the passphrase twice without a passphrase file', async () => {
    const differ = await opentill(args, { answers: [PASSPHRASE, `${PASSPHRASE}!`] });
    expectRefusal(differ, 1, /two passphrases differ/);
    expect(existsSync(publicKeys)).toBe(false);
    expect(await opentill(args, { answers: [PASSPHRASE, PASSPHRASE] })).toMatchObject({ code: 0 });
    await openKeystore(keystore, 'seed', PASSPHRASE, COST);
  });

  it.each([
    ['keystore', () => keystore, () => publicKeys],
    ['public key file', () => publicKeys, () => keystore],
  ])('keeps an existing %s and leaves no other file behind', async (_what, present, absent) => {
    writeFileSync(present(), 'what was there');
    const run = await opentill([...args, '--passphrase-file', passphraseFile]);
    expectRefusal(run, 1, /already exists and is not overwritten/);
    expect(run.out).toEqual([]);
    expect(readFileSync(present(), 'utf8')).toBe('what was there');
    expect(existsSync(absent())).toBe(false);
  });

  it('rejects an open or missing passphrase file and a short passphrase', async () => {
    chmodSync(passphraseFile, 0o644);
    const fromFile = [...args, '--passphrase-file', passphraseFile];
    expectRefusal(await opentill(fromFile), 1, /passphrase/);
    rmSync(passphraseFile);
    expectRefusal(await opentill(fromFile), 1, /passphrase/);
    expectRefusal(await opentill(args, { answers: ['short', 'short'] }), 1, /at least 12 characters/);
    expect([existsSync(keystore), existsSync(publicKeys)]).toEqual([false, false]);
  });

  it('names a directory that does not exist', async () => {
    const nowhere = join(directory, 'nowhere', 'keystore.json');
    const run = await opentill(['keys', 'init', '--keystore', nowhere, '--public-keys', publicKeys], {
      answers: [PASSPHRASE, PASSPHRASE],
    });
    expectRefusal(run, 1, /nowhere/);
    expect(run.out).toEqual([]);
    expect(existsSync(publicKeys)).toBe(false);
  });
});

describe('opentill rescan', () => {
  const args = ['rescan', '--chain', 'ETH_SEPOLIA', '--from', '100', '--to', '120'];
  const request = () =>
    admin.kysely.selectFrom('rescan_request').selectAll().orderBy('request_id', 'desc').executeTakeFirst();

  it('waits for the scanner and prints what it found', async () => {
    const running = opentill(args);
    await waitUntil('the request is there', async () => (await request())?.done_at === null);
    expect(await request()).toMatchObject({ chain: 'ETH_SEPOLIA', from_height: 100, to_height: 120 });
    await admin.kysely.updateTable('rescan_request').set({ done_at: new Date(), found: 2 }).execute();
    expect(await running).toEqual({
      code: 0,
      out: ['Blocks 100 to 120 of ETH_SEPOLIA read again: 2 missing transfers were recorded.'],
      errors: [],
    });
  });

  it('reports that no scanner answered and keeps the request', async () => {
    let asked = 0;
    const now = () => new Date(Date.now() + (asked++ > 1 ? 61_000 : 0));
    expectRefusal(await opentill(args, { now }), 75, /no scanner of ETH_SEPOLIA has answered/);
    expect(await request()).toMatchObject({ done_at: null, from_height: 100 });
  });

  it.each([
    [['--chain', 'doge', '--from', '1', '--to', '2'], /doge is not a chain/],
    [['--chain', 'ETH', '--from', 'x', '--to', '2'], /--from must be a block height/],
    [['--chain', 'ETH', '--from', '1', '--to', '99999999999999999999'], /--to must be a block height/],
    [['--chain', 'ETH', '--from', '3', '--to', '2'], /--to is below --from/],
  ])('rejects %j', async (options, words) => {
    expectRefusal(await opentill(['rescan', ...options]), 1, words);
  });
});

async function createOrderWithCallbacks(count: number, overrides: Parameters<typeof aCollection>[1] = {}) {
  const order = await aCollection(admin.kysely, overrides);
  const events: string[] = [];
  for (let sequence = 1; sequence <= count; sequence += 1) {
    const eventId = randomUUID();
    events.push(eventId);
    const common = {
      event_id: eventId,
      merchant_id: order.merchant_id,
      subject_id: order.order_pk,
      sequence,
    };
    await admin.kysely
      .insertInto('notification')
      .values({
        ...common,
        notify_type: 'ORDER_PENDING',
        data: JSON.stringify({ orderId: order.order_id }),
        occurred_at: new Date(),
      })
      .execute();
    await admin.kysely
      .insertInto('delivery')
      .values({
        ...common,
        state: 'DELIVERED',
        attempts: 2,
        next_attempt_at: new Date(),
        finished_at: new Date(),
      })
      .execute();
    for (const [attempt, statusCode, error] of [
      [1, null, 'ECONNREFUSED: no answer'],
      [2, 200, null],
    ] as const) {
      await admin.kysely
        .insertInto('delivery_attempt')
        .values({
          event_id: eventId,
          attempt,
          started_at: new Date(),
          duration_ms: 7,
          status_code: statusCode,
          error,
          response_excerpt: null,
        })
        .execute();
    }
  }
  return { order, events };
}

describe('opentill webhook replay', () => {
  const states = async (order: OrderRow) =>
    (
      await admin.kysely
        .selectFrom('delivery')
        .select('state')
        .where('subject_id', '=', order.order_pk)
        .orderBy('sequence')
        .execute()
    ).map((row) => row.state);

  it('makes one callback due again by its nonce', async () => {
    const { order, events } = await createOrderWithCallbacks(3);
    const run = await opentill(['webhook', 'replay', '--event', events[1]!]);
    expect(run).toEqual({ code: 0, out: ['1 of 1 callbacks are due again.'], errors: [] });
    expect(await states(order)).toEqual(['DELIVERED', 'PENDING', 'DELIVERED']);
  });

  it('makes all callbacks of an order due again, only of that merchant', async () => {
    const { order } = await createOrderWithCallbacks(2, { order_id: 'same-id' });
    await admin.kysely
      .updateTable('merchant')
      .set({ callback_url: 'https://shop.example/' })
      .where('merchant_id', '=', order.merchant_id)
      .execute();
    const other = await createOrderWithCallbacks(1, { order_id: 'same-id' });
    const args = ['webhook', 'replay', '--order', 'same-id', '--merchant', order.merchant_id];
    expect(await opentill(args)).toMatchObject({ code: 0, out: ['2 of 2 callbacks are due again.'] });
    expect(await states(order)).toEqual(['PENDING', 'PENDING']);
    expect(await states(other.order)).toEqual(['DELIVERED']);
  });

  it.each([
    [[], /either --event or --order/],
    [
      ['--event', randomUUID(), '--order', 'x'],
      /--event allows no other filter: give either --event or --order/,
    ],
    [['--event', randomUUID()], /No such callback/],
    [['--event', 'first-1'], /first-1 is not the nonce of a callback/],
    [['--order', 'nobody-knows'], /No such callback/],
  ])('rejects %j', async (options, words) => {
    expectRefusal(await opentill(['webhook', 'replay', ...options]), 1, words);
  });
});

describe('opentill explain', () => {
  async function createPaidOrder() {
    const { order, events } = await createOrderWithCallbacks(1);
    const transfer = await aTransfer(admin.kysely, order, { amount: 250n * ONE_USDT, state: 'VERIFIED' });
    const stranger = await aTransfer(admin.kysely, { ...order, symbol: 'USDC' }, { amount: 7n });
    await admin.kysely
      .insertInto('transfer_settlement')
      .values({
        transfer_id: transfer.transfer_id,
        settled_version: 1,
        order_pk: order.order_pk,
        booked_amount: transfer.amount,
        booked_symbol: transfer.symbol,
        bookings: 1,
        credited: true,
      })
      .execute();
    await admin.kysely
      .insertInto('unmatched_deposit')
      .values({
        transfer_id: stranger.transfer_id,
        merchant_id: order.merchant_id,
        order_pk: order.order_pk,
        reason: 'WRONG_TOKEN',
      })
      .execute();
    await aChainCursor(admin.kysely, { head_height: 123, seen_height: 122, verified_height: 120 });
    return { order, events, transfer, stranger };
  }

  it('prints the same for an order id, a transaction and an address in any spelling', async () => {
    const { order, events, transfer, stranger } = await createPaidOrder();
    const byId = await opentill(['explain', order.order_id]);
    expect(byId).toMatchObject({ code: 0, errors: [] });
    const story = byId.out.join('\n');
    for (const words of [
      `COLLECTION ${order.order_id} of merchant ${order.merchant_id}: INIT`,
      `250.00 USDT on ETH_SEPOLIA at ${order.address}`,
      'chain read to 122 (verified 120',
      `transfer 250.00 USDT on ETH_SEPOLIA, ${transfer.tx_hash} log:0`,
      'VERIFIED, booked, credited',
      `transfer 7 base units USDC on ETH_SEPOLIA, ${stranger.tx_hash} log:0`,
      'unmatched: WRONG_TOKEN',
      `callback 1 ORDER_PENDING ${events[0]}: DELIVERED after 2 attempts`,
      'attempt 1 at',
      'ECONNREFUSED: no answer in 7 ms',
      '200 in 7 ms',
    ])
      expect(story).toContain(words);
    const checksummed = evmAddressCodec.format(evmAddressCodec.parse(order.address)!);
    expect(checksummed).not.toBe(order.address);
    for (const wanted of [
      order.address,
      checksummed,
      transfer.tx_hash,
      transfer.tx_hash.toUpperCase().replace('0X', '0x'),
    ])
      expect((await opentill(['explain', wanted])).out).toEqual(byId.out);
  });

  it('prints an order of an ops service without prices, options and links', async () => {
    const { order } = await createPaidOrder();
    const added = new Set(['options', 'pricing', 'linkId']);
    const older = createServer(({ headers: { authorization = '' }, url }, response) => {
      const answered = fetch(`${ops.url}${url}`, { headers: { authorization } });
      const known = (name: string, value: unknown) => (added.has(name) ? undefined : value);
      void answered
        .then(async (answer) => answer.json())
        .then((json) => response.end(JSON.stringify(json, known)));
    });
    await new Promise<void>((resolve) => void older.listen(0, '127.0.0.1', resolve));
    const env = { ...operator(), OPS_URL: `http://127.0.0.1:${(older.address() as AddressInfo).port}` };
    try {
      for (const args of [
        ['explain', order.order_id],
        ['orders', 'list', '--address', order.address],
      ]) {
        const { code, out } = await opentill(args);
        expect(code).toBe(0);
        expect(await opentill(args, { env })).toEqual({ code, out, errors: [] });
      }
    } finally {
      older.close();
    }
  });

  it('prints third-party text on one line without control characters', async () => {
    const order = await aCollection(admin.kysely, { reason: EVIL, status: 'FAILED' });
    const { out } = await opentill(['explain', order.order_id]);
    expect(out[0]).toMatch(/: FAILED \(a {1}\[2J forged 31m b\)$/);
    expect(out.filter((line) => UNPRINTABLE.test(line))).toEqual([]);
    const liar = createServer((_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code: 'X', message: EVIL } }));
    });
    await new Promise<void>((resolve) => void liar.listen(0, '127.0.0.1', resolve));
    const { port } = liar.address() as AddressInfo;
    const env = { ...operator(), OPS_URL: `http://127.0.0.1:${port}` };
    const run = await opentill(['operator', 'list'], { env });
    liar.close();
    expectRefusal(run, 1, /^opentill: a \[2J forged 31m b$/);
    expect(run.errors.filter((line) => UNPRINTABLE.test(line))).toEqual([]);
  });

  it('prints a payout, a chain that was never read and callbacks not queued yet', async () => {
    const payout = await aPayout(admin.kysely, { chain: 'BSC_TEST' });
    await admin.kysely
      .insertInto('notification')
      .values({
        event_id: randomUUID(),
        merchant_id: payout.merchant_id,
        subject_id: payout.order_pk,
        sequence: 1,
        notify_type: 'ORDER_PENDING',
        data: '{}',
        occurred_at: new Date(),
      })
      .execute();
    const { out } = await opentill(['explain', payout.order_id]);
    expect(out[0]).toContain(`PAYOUT ${payout.order_id}`);
    expect(out.join('\n')).toContain(`250.00 USDT on BSC_TEST to ${payout.address}`);
    expect(out.join('\n')).toContain('no scanner has committed a cursor');
    expect(out.at(-1)).toContain('not yet queued after 0 attempts');
  });

  it('prints until when the transaction of a payout without nonces is valid', async () => {
    const wallet = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH';
    const address = 'TMuA6YqfCeX8EhbfYEg5y7S4DqzSJireY9';
    const payout = await aReservedPayout(admin.kysely, {
      chain: 'TRON_TEST',
      family: 'TRON',
      contract_address: null,
      symbol: 'TRX',
      decimals: 6,
      address,
      source_address: wallet,
    });
    const signed = await anOwnTransaction(admin.kysely, payout, { nonce: null, tx_hash: 'ab'.repeat(32) });
    await sql`insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash)
      values ('TRON_TEST', ${signed.tx_hash}, ${wallet}, ${payout.order_pk}, 1, ${Date.UTC(2030, 0, 1)}, 1, 'b')`.execute(
      admin.kysely,
    );
    for (const word of [payout.order_id, address]) {
      const { out } = await opentill(['explain', word]);
      expect(out.join('\n')).toContain(`TRX on TRON_TEST to ${address}`);
    }
    const { out } = await opentill(['explain', payout.order_id]);
    const line = out.find((text) => text.includes(signed.tx_hash));
    expect(line).toContain('valid until 2030-01-01T00:00:00.000Z');
    expect(line).toContain('not in a block yet');
  });

  it('advises a rescan for an unknown transaction', async () => {
    expectRefusal(await opentill(['explain', aHash()]), 1, /0x.* is not an order id.*opentill rescan/);
    expectRefusal(await opentill(['explain']), 1, /missing required argument/);
  });
});

describe('opentill wallet book-top-up', () => {
  const args = (txid: string, amount = '1000.5', chain = 'ETH_SEPOLIA') =>
    `wallet book-top-up --chain ${chain} --symbol USDT --amount ${amount} --txid ${txid}`.split(' ');
  const available = async (chain = 'ETH_SEPOLIA') => {
    const { rows } = await sql<{ balance: bigint }>`
      select balance from ledger_account where kind = 'HOT_AVAILABLE' and chain = ${chain} and symbol = 'USDT'`.execute(
      admin.kysely,
    );
    return BigInt(rows[0]?.balance ?? 0n);
  };

  it('refuses a top-up before a scanner has verified a block', async () => {
    const before = await available();
    const unread = args(aHash(), '1', 'BSC_TEST');
    expectRefusal(await opentill(unread), 1, /BSC_TEST: no scanner has verified a block yet/);
    expectRefusal(await opentill(args(aHash(), '0.0000001')), 1, /is not an amount of USDT/);
    expect(await available()).toBe(before);
  });

  it.each([
    [args(aHash(), '-1'), /is not an amount of USDT/],
    [args(aHash(), '0'), /zero|positive/],
    [args(aHash(), '1', 'TRON'), /not configured/],
    [args('0xabc'), /0xabc is not the hash of a transaction of ETH_SEPOLIA/],
  ])('rejects %j', async (refused, words) => {
    const before = await available();
    expectRefusal(await opentill(refused), 1, words);
    expect(await available()).toBe(before);
  });

  it('names a network file that is missing or broken', async () => {
    const missing = { ...operator(), NETWORKS_FILE: join(directory, 'none.json') };
    expectRefusal(await opentill(args(aHash()), { env: missing }), 1, /none\.json/);
    const broken = join(directory, 'broken.json');
    writeFileSync(broken, '{"networks": 1}');
    expectRefusal(
      await opentill(args(aHash()), { env: { ...operator(), NETWORKS_FILE: broken } }),
      1,
      /broken\.json/,
    );
  });
});

/** cli-process.full.test.ts has the other outputs and exit codes. */
describe('opentill as a process', () => {
  it('exits with 0, or prints an error to standard error and exits with 75', async () => {
    const down = { ...operator(), OPS_URL: 'http://127.0.0.1:2' };
    const [list, unreachable] = await Promise.all([
      runProcess(['merchant', 'list'], operator()),
      runProcess(['merchant', 'list'], down),
    ]);
    expect(list).toMatchObject({ code: 0, err: '' });
    expect(unreachable).toMatchObject({ code: 75, out: '' });
    expect(unreachable.err).toMatch(/^opentill: .*ECONNREFUSED.*\n$/);
  });
});
