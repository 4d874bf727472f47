import { spawn } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { findFreePort } from '@opentill/test-servers/free-port';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import { aChainCursor, aMerchant, TEST_SECRETS_KEY_BASE64 } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { seedFingerprint } from '@opentill/wallet/derivation';
import { createKeystore } from '@opentill/wallet/keystore';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { publicKeysOf, writePublicKeys } from '@opentill/wallet/public-keys';

// Tests both processes on real servers without a chain. tools/e2e/test/small.full.test.ts tests payments.

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const NOWHERE = 'http://127.0.0.1:1';
const PASSPHRASE = 'a passphrase of the tests';
const TOKEN = 'token-of-shop-0123456789-0123456789';
const WAIT_MS = 120_000;

interface SmallProcess {
  readonly ended: Promise<number | null>;
  readonly messages: () => readonly string[];
  end(signal: NodeJS.Signals): void;
}

let directory: string;
let database: TestDatabase;
let broker: TestBroker;
let common: Readonly<Record<string, string>>;
let callbacks: ReturnType<typeof createServer>;
const callbackTypes: string[] = [];
const started: SmallProcess[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'opentill-small-'));
  [database, broker] = await Promise.all([createTestDatabase(), createTestBroker()]);
  const seed = seedOf(generateMnemonic());
  const secret = { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed } as const;
  await createKeystore(join(directory, 'keystore.json'), secret, PASSPHRASE);
  await writePublicKeys(join(directory, 'public-keys.json'), publicKeysOf(seed, [evmAddressCodec]));
  writeFileSync(join(directory, 'passphrase'), `${PASSPHRASE}\n`, { mode: 0o600 });
  callbacks = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => {
      callbackTypes.push((JSON.parse(text) as { notifyType: string }).notifyType);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(callbacks, 'listening');
  const { port } = callbacks.address() as AddressInfo;
  const admin = database.open('admin');
  await aMerchant(admin.kysely, {
    merchantId: 'shop',
    token: TOKEN,
    callbackUrl: `http://127.0.0.1:${port}/callbacks`,
  });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  await admin.close();
  common = {
    ...NODE_ENVIRONMENT,
    NETWORKS_FILE: join(CHECKOUT, 'deploy', 'networks', 'local.json'),
    ETH_SEPOLIA_RPC_URLS: NOWHERE,
    ETH_SEPOLIA_WS_URL: '',
    BSC_TEST_RPC_URLS: NOWHERE,
    BSC_TEST_WS_URL: '',
  };
});
afterAll(async () => {
  for (const one of started) one.end('SIGKILL');
  await Promise.all(started.map(({ ended }) => ended));
  callbacks.close();
  await broker.drop();
  await database.drop();
  rmSync(directory, { recursive: true });
});

function start(name: 'gateway' | 'signer', env: Readonly<Record<string, string>>): SmallProcess {
  const main = join(import.meta.dirname, '..', 'src', `${name}.ts`);
  const child = spawn(process.execPath, ['--conditions=source', main], {
    env: { ...common, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const one: SmallProcess = {
    ended: new Promise((resolve) => child.once('close', resolve)),
    messages: () =>
      output
        .split('\n')
        .filter((line) => line.endsWith('}'))
        .map((line) => (JSON.parse(line) as { message: string }).message),
    end: (signal) => child.kill(signal),
  };
  started.push(one);
  return one;
}

async function urlsOf(names: readonly (readonly [string, Parameters<TestDatabase['url']>[0]])[]) {
  const pairs = names.map(async ([service, role]) => {
    const prefix = service.toUpperCase().replaceAll('-', '_');
    return [
      [`${prefix}_DATABASE_URL`, database.url(role)],
      [`${prefix}_AMQP_URL`, await broker.urlFor(service as Parameters<TestBroker['urlFor']>[0])],
    ] as const;
  });
  return Object.fromEntries((await Promise.all(pairs)).flat()) as Record<string, string>;
}

test("delivers an order's callback with both processes, which then stop cleanly", async () => {
  const [port, opsPort, health, signerHealth] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const gateway = start('gateway', {
    ...(await urlsOf([
      ['api', 'api'],
      ['scanner-evm', 'scanner_evm'],
      ['scanner-tron', 'scanner_tron'],
      ['scanner-sui', 'scanner_sui'],
      ['confirmation-tracker', 'tracker'],
      ['webhook-sender', 'webhook'],
      ['ops', 'ops'],
    ])),
    RATES_DATABASE_URL: database.url('rates'),
    PORT: `${port}`,
    OPS_PORT: `${opsPort}`,
    HEALTH_PORT: `${health}`,
    PUBLIC_KEYS_FILE: join(directory, 'public-keys.json'),
    SECRETS_KEY: TEST_SECRETS_KEY_BASE64,
    CHECKOUT_BASE_URL: 'http://localhost/checkout',
    DEPOSIT_ADDRESSES_READY: '64',
    ALLOW_HTTP_CALLBACKS: 'true',
    ALLOWED_CALLBACK_ADDRESSES: '127.0.0.1/32',
  });
  const signer = start('signer', {
    ...(await urlsOf([['payout-signer', 'signer']])),
    HEALTH_PORT: `${signerHealth}`,
    KEYSTORE_FILE: join(directory, 'keystore.json'),
    PASSPHRASE_FILE: join(directory, 'passphrase'),
    SIGNER_STATE_DIR: directory,
  });
  const lives = async (at: number): Promise<boolean> =>
    fetch(`http://127.0.0.1:${at}/livez`).then(
      (answer) => answer.ok,
      () => false,
    );
  await waitUntil('both live', async () => (await lives(health)) && (await lives(signerHealth)), WAIT_MS);
  const isRefused = async () => (await fetch(`http://127.0.0.1:${opsPort}/v1/payouts`)).status === 401;
  await waitUntil('ops rejects an anonymous request', isRefused, WAIT_MS);

  const data = JSON.stringify({ orderId: 'order-1', amount: '10', symbol: 'USDT', chain: 'ETH_SEPOLIA' });
  const sign = createHmac('sha256', TOKEN).update(data).digest('hex');
  let answer: unknown;
  // Retries, like a merchant, while the gateway is busy. All requests create one order.
  const isAnswered = async () => {
    const timestamp = Math.floor(Date.now() / 1_000);
    const response = await fetch(`http://127.0.0.1:${port}/v1/order/createCollection`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"sign":"${sign}","timestamp":${timestamp},"nonce":"${randomUUID()}","data":${data}}`,
    });
    answer = await response.json();
    return response.status !== 503;
  };
  await waitUntil('the order is answered', isAnswered, WAIT_MS);
  expect(answer).toMatchObject({ code: 200, data: { orderId: 'order-1' } });
  await waitUntil('the callback', () => callbackTypes.length > 0, WAIT_MS);
  expect(new Set(callbackTypes)).toEqual(new Set(['ORDER_PENDING']));

  // A service that exceeds its 10 s to stop exits with another code.
  for (const one of [gateway, signer]) one.end('SIGTERM');
  expect(await Promise.all([gateway.ended, signer.ended])).toEqual([0, 0]);
  for (const one of [gateway, signer]) expect(one.messages().at(-1)).toBe('service stopped');
}, 600_000);
