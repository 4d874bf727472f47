import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { findFreePort } from '@opentill/test-servers/free-port';
import type { Gateway } from '@opentill/local/start-gateway';
import { measureCreation, type CreationFigures } from './measure-creation.ts';
import { untilIdle } from './read-memory.ts';

/** createCollection beside the bare server; both measured in turns, the other services stopped. */
export interface CreationComparison {
  readonly connections: number;
  readonly secondsPerRound: number;
  readonly rounds: readonly { readonly gateway: CreationFigures; readonly bare: CreationFigures }[];
  /** Median over the rounds of gateway / bare requests per second. */
  readonly throughputRatio: number;
  /** One round more with every service running: each order's first callback is sent on the same cores meanwhile. */
  readonly withAllServices: CreationFigures;
}

const CONNECTIONS = 32;
const ROUND_SECONDS = 8;
const WARM_UP_SECONDS = 4;
const ROUNDS = 3;
const OTHER_SERVICES = ['demo-shop', 'webhook-sender', 'confirmation-tracker', 'scanner-evm'] as const;

/** Measures the gateway's createCollection and the bare server's, in turns, against the same Postgres. */
export async function compareCreation(gateway: Gateway, token: string): Promise<CreationComparison> {
  const admin = new pg.Client({ connectionString: gateway.database.url });
  await admin.connect();
  let bare: { url: string; process: ChildProcess } | undefined;
  try {
    await liftLimits(admin);
    const apiPid = gateway.services.get('api')?.pid;
    if (apiPid === undefined) throw new Error('the api does not run');
    const load = { token, connections: CONNECTIONS };
    const withAllServices = await measureCreation({
      ...load,
      url: gateway.apiUrl,
      durationSeconds: ROUND_SECONDS,
    });
    for (const service of OTHER_SERVICES) await gateway.stopService(service);
    bare = await startBareServer(gateway.database.url, token, admin);
    for (const url of [gateway.apiUrl, bare.url])
      await measureCreation({ ...load, url, durationSeconds: WARM_UP_SECONDS });
    const rounds = [];
    for (let i = 0; i < ROUNDS; i += 1) {
      await untilIdle(apiPid);
      const ours = await measureCreation({ ...load, url: gateway.apiUrl, durationSeconds: ROUND_SECONDS });
      await untilIdle(apiPid); // the api derives addresses in the quiet after a rush; the bare server must not pay for it
      const bareRound = await measureCreation({ ...load, url: bare.url, durationSeconds: ROUND_SECONDS });
      rounds.push({ gateway: ours, bare: bareRound });
    }
    const ratios = rounds
      .map((r) => r.gateway.requestsPerSecond / r.bare.requestsPerSecond)
      .sort((a, b) => a - b);
    const median = ratios[Math.floor(ratios.length / 2)] ?? Number.NaN;
    return {
      connections: CONNECTIONS,
      secondsPerRound: ROUND_SECONDS,
      rounds,
      withAllServices,
      throughputRatio: Math.round(median * 100) / 100,
    };
  } finally {
    bare?.process.kill('SIGTERM');
    await admin.end();
  }
}

/** The merchant's own limits, high enough to be counted and not reached; the api reads them within seconds. */
export async function liftLimits(admin: Pick<pg.Pool, 'query'>): Promise<void> {
  const limits = { createCollection: { requests: 1_000_000, seconds: 10 } };
  await admin.query('update merchant set rate_limits = $1, updated_at = now()', [JSON.stringify(limits)]);
  await new Promise((resolve) => setTimeout(resolve, 6_000));
}

async function startBareServer(databaseUrl: string, token: string, admin: pg.Client) {
  await admin.query(
    'create table if not exists bare_order (order_id text primary key, amount numeric, symbol text, chain text, created_at timestamptz default now())',
  );
  const port = await findFreePort();
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bare-server.js')], {
    env: {
      ...process.env,
      NODE_ENV: 'production',
      PORT: `${port}`,
      DATABASE_URL: databaseUrl,
      MERCHANT_TOKEN: token,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return { url: `http://127.0.0.1:${port}`, process: child };
}
