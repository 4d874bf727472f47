import { randomBytes, randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { readPageAssets } from '@opentill/checkout/page-assets';
import { PLAIN_THEME } from '@opentill/checkout/view/theme';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { signOrderId, signText } from '@opentill/contracts/signing/verify-signature';
import { openDatabase, type Database } from '@opentill/db/database';
import { FAMILIES } from '@opentill/domain/chains';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import type { MerchantSettings } from '@opentill/db/merchants';
import { TEST_SECRETS_KEY } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { TestDatabase } from '@opentill/testkit/test-database';
import { parseMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { publicKeysFor, publicKeysOf } from '@opentill/wallet/public-keys';
import { ADDRESS_CODECS } from '../../src/address-codecs.ts';
import { createApp, type Api, type ApiSettings } from '../../src/app.ts';
import type { CheckoutDesign } from '../../src/checkout-page.ts';
import { createDerivationThread } from '../../src/derive-in-worker.ts';
import { DEFAULT_STREAM_LIMITS } from '../../src/order-streams.ts';
import { expectDocumented, type WireAnswer } from './answer-schemas.ts';

/** Known seed, so that tests can derive the expected addresses. */
const TEST_SEED = seedOf(parseMnemonic('test test test test test test test test test test test junk'));
export const TEST_PUBLIC_KEYS_FILE = publicKeysOf(TEST_SEED, ADDRESS_CODECS);
export const TEST_PUBLIC_KEYS = publicKeysFor(TEST_PUBLIC_KEYS_FILE, 'test');
export const USDT_SEPOLIA = '0x5fbdb2315678afecb367f032d93f642f64180aa3';
export const USDC_SEPOLIA = '0xe7f1725e7734ce288f8367e1bb143e90bb3f0512';
export const STRANGER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'.replace('7099', '7098').toLowerCase();

/** Limits that tests do not reach by accident. */
export const NO_LIMITS = Object.fromEntries(
  ['createCollection', 'createPayout', 'link', 'status', 'pay', 'getOrderStatus', 'supportSymbols'].map(
    (name) => [name, { requests: 1_000_000, seconds: 1 }],
  ),
);

const token = (symbol: string, contract: string, decimals: number, maxAmount: string | null = '1000000') => ({
  symbol,
  contract,
  decimals,
  displayDecimals: 2,
  minAmount: '0.01',
  maxAmount,
});
const network = (
  chain: string,
  chainId: number,
  enabled: boolean,
  tokens: object[],
  confirmations: unknown = 3,
) => ({
  chain,
  family: 'EVM',
  enabled,
  chainId,
  name: chain,
  rpcUrls: ['http://127.0.0.1:1'],
  nativeSymbol: 'ETH',
  nativeDecimals: 18,
  confirmations,
  blockTimeMs: 1_000,
  pollIntervalMs: 250,
  reorgWindow: 64,
  maxBlockRange: 100,
  bloom: true,
  tokens,
});

/** ETH is known but not enabled; POLYGON_AMOY needs finalized blocks. */
export const TEST_NETWORKS: readonly NetworkConfig[] = parseNetworkFile(
  JSON.stringify({
    networks: [
      network('ETH_SEPOLIA', 11155111, true, [
        token('USDT', USDT_SEPOLIA, 6),
        token('USDC', USDC_SEPOLIA, 6, null),
      ]),
      network('BSC_TEST', 97, true, [token('USDT', USDT_SEPOLIA, 18)]),
      network('POLYGON_AMOY', 80002, true, [token('USDT', USDT_SEPOLIA, 6)], 'finalized'),
      network('ETH', 1, false, [token('USDT', USDT_SEPOLIA, 6)]),
    ],
  }),
  'test networks',
);

export interface TestApi {
  readonly url: string;
  readonly port: number;
  readonly app: Api;
  readonly database: Database;
  advance(seconds: number): void;
  /** The api's clock stands still meanwhile. */
  atOneMoment<T>(work: () => Promise<T>): Promise<T>;
  nowSeconds(): number;
  wakes(): number;
  logLines(): readonly Record<string, unknown>[];
  /** Compares the response with the OpenAPI document. */
  request(method: string, path: string, init?: RequestInit): Promise<Answered>;
  /** Signed by a merchant. */
  post(path: string, data: unknown, options?: PostOptions): Promise<Answered>;
  /** `sign` covers `orderId`. */
  signedGet(
    endpoint: 'pay' | 'getOrderStatus' | 'status',
    orderId: string,
    merchant?: Signer,
  ): Promise<Answered>;
  /** Waits until the api has read a merchant that was created after its start. */
  knows(merchant: Signer): Promise<void>;
  stop(): Promise<void>;
}

export type Signer = Pick<MerchantSettings, 'token'>;

export interface PostOptions {
  readonly merchant?: Signer;
  readonly nonce?: unknown;
  readonly timestamp?: unknown;
  readonly sign?: unknown;
  readonly headers?: Record<string, string>;
}

export interface Answered extends WireAnswer {
  readonly code: number;
  readonly msg: string;
  // Tests assert its shape.
  // eslint-disable-next-line typescript/no-explicit-any
  readonly data: any;
  readonly detail?: string;
}

export interface TestApiOptions extends Partial<ApiSettings> {
  readonly networks?: readonly NetworkConfig[];
  readonly merchant?: Signer;
  /** For example of a proxy. */
  readonly databaseUrl?: string;
  /** Default: longer than a query takes under load. */
  readonly statementTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  readonly checkout?: Partial<CheckoutDesign>;
}

/** One block of the pool. Deriving the production number takes half a minute of processor time. */
const ADDRESSES_READY = 64;
/** Shared by all tests, because each thread loads its modules again. */
const DERIVATION = createDerivationThread(TEST_PUBLIC_KEYS);
const TIMEOUT_MS = 60_000;

/** Runs in this process, on a free port, as its own database role. */
export async function startTestApi(
  testDatabase: TestDatabase,
  options: TestApiOptions = {},
): Promise<TestApi> {
  await writeHotWallets(testDatabase);
  const database = openDatabase({
    url: options.databaseUrl ?? testDatabase.url('api'),
    applicationName: 'api under test',
    poolMax: 10,
    statementTimeoutMs: options.statementTimeoutMs ?? TIMEOUT_MS,
    connectTimeoutMs: options.connectTimeoutMs ?? TIMEOUT_MS,
    prepareStatements: true,
  });
  let shiftMs = 0;
  let wakes = 0;
  let standsAtMs: number | undefined;
  const now = () => new Date((standsAtMs ?? Date.now()) + shiftMs);
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n').filter(Boolean)) lines.push(JSON.parse(line) as never);
      done();
    },
  });
  const app = createApp({
    database,
    networks: options.networks ?? TEST_NETWORKS,
    codecs: ADDRESS_CODECS,
    publicKeys: TEST_PUBLIC_KEYS,
    deriveAddresses: DERIVATION.derive,
    secretsKey: TEST_SECRETS_KEY,
    clock: { now },
    newId,
    logger: createLogger({ service: 'api', level: 'info', stream }),
    metrics: createMetrics('api'),
    wakeRelay: () => (wakes += 1),
    brokerConnected: () => false,
    checkout: { theme: PLAIN_THEME, logo: null, assets: readPageAssets(), ...options.checkout },
    settings: {
      port: 0,
      host: '127.0.0.1',
      checkoutBaseUrl: 'http://pay.example/checkout',
      trustedProxies: [],
      corsOrigins: ['*'],
      timestampWindowSeconds: 300,
      rateLimitStore: 'memory',
      unnamedMerchantsMax: 16,
      unnamedFailuresMax: 10,
      profile: 'production',
      streamLimits: DEFAULT_STREAM_LIMITS,
      addressesReady: ADDRESSES_READY,
      addressWaitMs: TIMEOUT_MS, // under load the thread that derives the first one takes seconds to start
      ...options,
    },
  });
  const port = await app.start();
  const url = `http://127.0.0.1:${port}`;
  const signer = options.merchant ?? { token: 'nobody' };
  const nowSeconds = () => Math.floor(now().getTime() / 1000);

  async function request(method: string, path: string, init: RequestInit = {}): Promise<Answered> {
    const response = await fetch(url + path, { method, redirect: 'manual', ...init });
    const answer = { status: response.status, headers: response.headers, text: await response.text() };
    const pathname = (path.split('?', 1)[0] ?? path).replace(/^\/m\/[^/]+/, '');
    const isData =
      !['/', '/docs', '/openapi.json', '/readyz'].includes(pathname) &&
      !/^\/(checkout|docs\/guides)/.test(pathname);
    if (method !== 'HEAD' && isData) {
      expectDocumented(method, pathname, answer);
      return {
        ...answer,
        ...(JSON.parse(answer.text) as Pick<Answered, 'code' | 'msg' | 'data' | 'detail'>),
      };
    }
    return { ...answer, code: answer.status, msg: '', data: undefined };
  }

  const signedGet: TestApi['signedGet'] = (endpoint, orderId, merchant = signer) => {
    const sign = signOrderId(merchant.token, orderId);
    return endpoint === 'status'
      ? request('GET', `/v1/order/status/${encodeURIComponent(orderId)}?sign=${sign}`)
      : request('GET', `/v1/order/${endpoint}?orderId=${encodeURIComponent(orderId)}&sign=${sign}`);
  };
  return {
    url,
    port,
    app,
    database,
    advance: (seconds) => void (shiftMs += seconds * 1000),
    async atOneMoment(work) {
      standsAtMs = Date.now();
      return work().finally(() => (standsAtMs = undefined));
    },
    nowSeconds,
    wakes: () => wakes,
    logLines: () => lines,
    request,
    post(path, data, postOptions = {}) {
      const dataText = JSON.stringify(data);
      const { merchant = signer, headers } = postOptions;
      const envelope: Record<string, unknown> = {
        sign: 'sign' in postOptions ? postOptions.sign : signText(merchant.token, dataText),
        timestamp: 'timestamp' in postOptions ? postOptions.timestamp : nowSeconds(),
        nonce: 'nonce' in postOptions ? postOptions.nonce : randomUUID(),
        data,
      };
      return request('POST', path, {
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(envelope),
      });
    },
    signedGet,
    async knows(merchant) {
      await waitUntil(
        'the merchant is known',
        async () => (await signedGet('status', 'none', merchant)).code === 404,
      );
    },
    async stop() {
      await app.stop();
      await database.close();
    },
  };
}

export const COLLECTION = '/v1/order/createCollection';
export const PAYOUT = '/v1/order/createPayout';

export function anOrderId(): string {
  return `order-${randomBytes(8).toString('hex')}`;
}

export function collectionData(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return { amount: '250', symbol: 'USDT', chain: 'ETH_SEPOLIA', orderId: anOrderId(), ...overrides };
}

export function payoutData(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    amount: '25',
    symbol: 'USDT',
    chain: 'ETH_SEPOLIA',
    receiveAddress: STRANGER,
    orderId: anOrderId(),
    ...overrides,
  };
}

/** Does the same as `opentill setup`. */
async function writeHotWallets(testDatabase: TestDatabase): Promise<void> {
  const admin = testDatabase.open('admin');
  const rows = FAMILIES.flatMap((family) =>
    TEST_PUBLIC_KEYS.families[family].hotWallets.map((address) => ({ family, address })),
  );
  await admin.kysely
    .insertInto('hot_wallet')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await admin.close();
}
