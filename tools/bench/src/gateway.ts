import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { findFreePorts } from '@opentill/local/find-free-ports';
import { BROKER_SERVICES, type DevnetChain, type ServiceName } from '@opentill/local/gateway-options';
import { startGateway, type Gateway } from '@opentill/local/start-gateway';
import { sleep, until } from './wait.ts';

export interface Arrival {
  readonly atMs: number;
  readonly notifyType: string;
  readonly orderId: string;
  readonly blockNum: number;
}

/** Complete gateway as `npm start` runs it, durable and with default settings. */
export interface BenchGateway {
  readonly gateway: Gateway;
  readonly arrivals: Arrival[];
  readonly callbackUrl: string;
  readonly database: pg.Pool;
}

export interface BenchOrder {
  readonly orderId: string;
  readonly address: string;
}

const TOKEN = 'bench-merchant-token-0123456789-0123456789';
const SERVICES = ['api', 'scanner-evm', 'confirmation-tracker', 'webhook-sender'] as const;
/** Upper bound of the time until the api has re-read merchants' limits. */
const LIMITS_READ_MS = 6_000;
const CONNECTIONS = 16;

export async function withBenchGateway<Figures>(
  work: (bench: BenchGateway) => Promise<Figures>,
  services: readonly ServiceName[] = SERVICES,
): Promise<Figures> {
  const stateDir = mkdtempSync(join(tmpdir(), 'opentill-bench-'));
  chmodSync(stateDir, 0o711); // under root, Postgres runs as another user
  const recorder = await recordCallbacks();
  const { callbackUrl } = recorder;
  let gateway: Gateway | undefined;
  let database: pg.Pool | undefined;
  try {
    // Each request uses another client address, so that rate limits are counted but never reached.
    const ofApi = { TRUSTED_PROXIES: '127.0.0.1/32,::1/128', DEPOSIT_ADDRESSES_READY: '32768' };
    gateway = await startGateway({
      stateDir,
      keep: false,
      services,
      ports: await findFreePorts(),
      merchant: { token: TOKEN, webhookSecret: 'bench-webhook-secret', callbackUrl, version: 'V3' },
      given: {},
      extraEnvironment: Object.fromEntries(
        BROKER_SERVICES.map((name) => [name, { LOG_LEVEL: 'warn', ...(name === 'api' ? ofApi : {}) }]),
      ),
    });
    database = new pg.Pool({ connectionString: gateway.database.url, max: 2 });
    return await work({ gateway, database, ...recorder });
  } finally {
    await database?.end();
    await gateway?.stop();
    recorder.close();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function recordCallbacks() {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const atMs = performance.now();
      response.end();
      const { notifyType, data } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        notifyType: string;
        data: { orderId: string; transaction: { blockNum: number } | null };
      };
      const { orderId, transaction } = data;
      arrivals.push({ atMs, notifyType, orderId, blockNum: transaction?.blockNum ?? -1 });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    arrivals,
    callbackUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export async function liftLimits({ database }: Pick<BenchGateway, 'database'>): Promise<void> {
  const limits = { createCollection: { requests: 1_000_000, seconds: 10 } };
  await database.query('update merchant set rate_limits = $1, updated_at = now()', [JSON.stringify(limits)]);
  await sleep(LIMITS_READ_MS);
}

let sent = 0;

export function nextClient(): { readonly 'x-forwarded-for': string } {
  sent += 1;
  return { 'x-forwarded-for': `10.${(sent >> 16) & 255}.${(sent >> 8) & 255}.${sent & 255}` };
}

export function signedCollection(orderId: string, chain: DevnetChain): string {
  const data = `{"orderId":"${orderId}","amount":"12.50","symbol":"USDT","chain":"${chain}"}`;
  const sign = createHmac('sha256', TOKEN).update(data).digest('hex');
  const timestamp = Math.floor(Date.now() / 1_000);
  return `{"sign":"${sign}","timestamp":${timestamp},"nonce":"${randomUUID()}","data":${data}}`;
}

/** Creates orders without sending their first callback, which belongs to creation. Call liftLimits first. */
export async function createOrders(
  bench: BenchGateway,
  count: number,
  chain: DevnetChain,
): Promise<BenchOrder[]> {
  const { database, callbackUrl } = bench;
  await database.query('update merchant set callback_url = null');
  const orders = await createOrdersWithCallbacks(bench, count, chain);
  await until('every notification is settled', async () => {
    const { rows } = await database.query<{ waits: boolean }>(
      `select exists (select from notification n where n.created_at > now() - interval '5 minutes' and not exists (
         select from delivery d where d.event_id = n.event_id and d.state <> 'PENDING')) as waits`,
    );
    return rows[0]?.waits === false;
  });
  await database.query('update merchant set callback_url = $1', [callbackUrl]);
  await database.query('analyze'); // autovacuum looks once a minute, and the tables grew from empty within seconds
  return orders;
}

/** Returns when they are created; their first callbacks may still be on their way. */
export async function createOrdersWithCallbacks(
  { gateway }: Pick<BenchGateway, 'gateway'>,
  count: number,
  chain: DevnetChain,
): Promise<BenchOrder[]> {
  const run = randomBytes(4).toString('hex');
  const orders: BenchOrder[] = [];
  let next = 0;
  const createNext = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      const orderId = `${run}-${index}`;
      orders[index] = { orderId, address: await createOrder(gateway.apiUrl, orderId, chain) };
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, createNext));
  return orders;
}

async function createOrder(apiUrl: string, orderId: string, chain: DevnetChain): Promise<string> {
  const response = await fetch(`${apiUrl}/v1/order/createCollection`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...nextClient() },
    body: signedCollection(orderId, chain),
  });
  const answer = (await response.json()) as { code: number; msg: string; data: { address: string } };
  if (answer.code !== 200) throw new Error(`createCollection returned ${answer.code} ${answer.msg}`);
  return answer.data.address;
}
