import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { findFreePorts } from '@opentill/local/find-free-ports';
import type { BrokerService } from '@opentill/local/gateway-options';
import { startGateway, type Gateway } from '@opentill/local/start-gateway';
import { recordCallbacks, type CallbackRecorder } from './measure-latency.ts';

/** A whole gateway of processes as `npm start` makes it, durable and with default settings, in a directory of its own. */
export interface BenchGateway {
  readonly gateway: Gateway;
  /** Where the merchant's callbacks arrive. */
  readonly recorder: CallbackRecorder;
  /** The database as its owner. */
  readonly database: pg.Pool;
  readonly token: string;
}

const TOKEN = 'bench-merchant-token-0123456789-0123456789';
const SERVICES = ['api', 'scanner-evm', 'confirmation-tracker', 'webhook-sender'] as const;

/**
 * Starts a gateway, lets `work` measure it, and leaves neither process nor file, but for the CPU profiles of the
 * services if OPENTILL_BENCH_PROFILES names a directory for them.
 */
export async function withBenchGateway<Figures>(
  work: (bench: BenchGateway) => Promise<Figures>,
  services: readonly BrokerService[] = SERVICES,
): Promise<Figures> {
  const stateDir = mkdtempSync(join(tmpdir(), 'opentill-bench-'));
  chmodSync(stateDir, 0o711); // Postgres runs as a user of its own when we are root
  const recorder = await recordCallbacks();
  let gateway: Gateway | undefined;
  let database: pg.Pool | undefined;
  try {
    const profiles = process.env['OPENTILL_BENCH_PROFILES'];
    const quiet = {
      LOG_LEVEL: 'warn',
      ...(profiles === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}` }),
    };
    gateway = await startGateway({
      stateDir,
      keep: false,
      services,
      ports: await findFreePorts(),
      merchant: {
        token: TOKEN,
        webhookSecret: 'bench-webhook-secret',
        callbackUrl: recorder.url,
        version: 'V3',
      },
      given: { databaseUrl: process.env['DATABASE_URL'], amqpUrl: process.env['AMQP_URL'] },
      extraEnvironment: {
        // Each request of the load comes from another address, so that the limits are counted but not reached.
        api: { ...quiet, TRUSTED_PROXIES: '127.0.0.1/32,::1/128', DEPOSIT_ADDRESSES_READY: '32768' },
        'scanner-evm': quiet,
        'scanner-tron': quiet,
        'scanner-sui': quiet,
        'confirmation-tracker': quiet,
        'webhook-sender': quiet,
        'payout-signer': quiet,
        ops: quiet,
      },
    });
    database = new pg.Pool({ connectionString: gateway.database.url, max: 2 });
    return await work({ gateway, recorder, database, token: TOKEN });
  } finally {
    await database?.end();
    await gateway?.stop();
    await recorder.close();
    rmSync(stateDir, { recursive: true, force: true });
  }
}
