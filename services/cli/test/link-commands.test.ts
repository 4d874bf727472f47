import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '@opentill/db/database';
import { aMerchant } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { NO_LIMITS, startTestApi, type TestApi } from '../../api/test/support/test-api.ts';
import { runCli } from '../src/run-cli.ts';

let database: TestDatabase;
let admin: Database;
let api: TestApi;
let directory: string;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = database.open('admin');
  const merchant = await aMerchant(admin.kysely, { merchantId: 'shop', rateLimits: NO_LIMITS });
  api = await startTestApi(database, { merchant });
  directory = mkdtempSync(join(tmpdir(), 'opentill-links-'));
  writeFileSync(join(directory, 'token'), `${merchant.token}\n`, { mode: 0o600 });
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await api.stop();
  await admin.close();
  await database.drop();
});

async function link(...args: readonly string[]) {
  const out: string[] = [];
  const errors: string[] = [];
  const merchant = ['--url', `${api.url}/m/shop`, '--token-file', join(directory, 'token')];
  const code = await runCli(['link', ...args, ...merchant], {
    env: {},
    clock: { now: () => new Date() },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => '',
  });
  return { code, out: out.join('\n'), errors: errors.join('\n') };
}

const COIN = ['--symbol', 'USDT', '--chain', 'ETH_SEPOLIA'];

test('opentill link creates, lists, shows and closes links', async () => {
  const asked = [
    'create',
    'coffee',
    ...COIN,
    '--amount',
    '3.50',
    '--currency',
    'EUR',
    '--stock',
    '5',
    '--expires',
    '7d',
  ];
  const created = await link(...asked);
  expect(created.errors).toBe('');
  expect(created.out).toMatch(/page +http:\/\/pay\.example\/checkout\/link\/[A-Za-z0-9_-]{22}\n/);
  expect(created.out).toMatch(/value +3\.50 EUR\ncoin +USDT on ETH_SEPOLIA/);
  await link('create', 'gift', ...COIN, '--min', '5', '--max', '500');
  const listed = await link('list');
  expect(listed.out.split('\n').map((line) => line.split('\t').slice(0, 4))).toEqual([
    ['gift', 'OPEN', '5.00 to 500.00 USDT', '0 sold, 0 reserved'],
    ['coffee', 'OPEN', '3.50 EUR', '0 sold, 0 reserved of 5'],
  ]);
  const chosen = ['--amount', '9.90', '--currency', 'EUR', '--accept', 'ETH_SEPOLIA:usdt, ETH_SEPOLIA:USDC'];
  expect((await link('create', 'club', ...chosen)).out).toMatch(
    /value +9\.90 EUR\ncoin +USDT on ETH_SEPOLIA, USDC on ETH_SEPOLIA/,
  );
  const any = await link('create', 'any', '--min', '1', '--max', '9', '--currency', 'EUR');
  expect(any.out).toMatch(/coin +any that is enabled/);
  expect((await link('close', 'gift')).out).toMatch(/state +CLOSED/);
  expect((await link('show', 'gift')).out).toMatch(/closed +20\d\d-/);
});

test.each([
  [['create', 'x', ...COIN], /Give --amount, or --min and --max/],
  [['create', 'x', ...COIN, '--amount', '1', '--min', '1'], /Give --amount, or --min and --max/],
  [['create', 'x', ...COIN, '--amount', '1', '--stock', 'many'], /--stock must be/],
  [['create', 'x', '--amount', '1'], /Give --symbol and --chain\. Only a price/],
  [['create', 'x', '--amount', '1', '--chain', 'ETH_SEPOLIA'], /Give --symbol and --chain, or neither/],
  [['create', 'x', ...COIN, '--amount', '1', '--accept', 'TRON:USDT'], /Give --accept, or --symbol/],
  [['create', 'x', '--amount', '1', '--currency', 'EUR', '--accept', 'USDT'], /'USDT' is not a coin/],
  [['create', 'x y', ...COIN, '--amount', '1'], /The linkId is invalid\. \(linkId: 'x y' contains/],
  [['show', 'none'], /Link not found/],
])('opentill link %j names the mistake', async (args, message) => {
  const { code, errors } = await link(...args);
  expect(code).toBe(1);
  expect(errors).toMatch(message);
});
