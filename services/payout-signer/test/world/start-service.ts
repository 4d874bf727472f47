import type { Address } from '@opentill/chain/address-codec';
import { openDatabase, type DatabaseOptions } from '@opentill/db/database';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger, type Logger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import type { KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { createApp, type SignerApp, type SignerDeps, type SignerTiming } from '../../src/app.ts';
import type { PayingNetwork } from '../../src/payouts/paying-network.ts';
import { byFastClock, fastClockMs, LEASE_TTL_MS, QUICK } from './quick-timing.ts';

const TIMING = { ...QUICK, planEveryMs: 100, leaseTtlMs: LEASE_TTL_MS, depositsAtOnce: 16 };
const POOL_MAX = 12;

export interface ServiceOptions<P extends PayingNetwork = PayingNetwork> extends Partial<
  Pick<SignerDeps, 'metrics' | 'sellers' | 'fail'>
> {
  readonly sender?: (sender: P['sender']) => P['sender'];
  readonly wrapPool?: DatabaseOptions['wrapPool'];
  readonly leaseTtlMs?: number;
  readonly timing?: Partial<SignerTiming>;
}

export interface RunningService {
  readonly app: SignerApp;
  readonly failures: readonly unknown[];
  stop(): Promise<void>;
}

export interface PageContext<P extends PayingNetwork> extends Pick<SignerDeps, 'policy' | 'stateDirectory'> {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  readonly keys: KeystoreSigner;
  readonly wallets: readonly Address[];
  readonly paying: P;
}

export function testLogger(): Logger {
  const level = process.env['TEST_LOG'] === undefined ? 'silent' : 'debug';
  return createLogger({ service: 'payout-signer', level });
}

export function openSignerPool(url: string, name: string, wrapPool?: DatabaseOptions['wrapPool']) {
  return openDatabase({ url, applicationName: name, poolMax: POOL_MAX, ...(wrapPool && { wrapPool }) });
}

export function startService<P extends PayingNetwork>(
  { databaseUrl, amqpUrl, paying, ...given }: PageContext<P>,
  { sender, wrapPool, leaseTtlMs = TIMING.leaseTtlMs, timing, ...options }: ServiceOptions<P> = {},
): RunningService {
  const id = newId();
  const db = openSignerPool(databaseUrl, `signer ${id}`, wrapPool);
  const logger = testLogger();
  const broker = connectBroker({ url: amqpUrl, logger, name: `signer ${id}` });
  const failures: unknown[] = [];
  const app = createApp({
    db: db.kysely,
    broker,
    logger,
    metrics: createMetrics('payout-signer', { ofProcess: false }),
    clock: systemClock,
    newId,
    instanceId: id,
    networks: [{ ...paying, sender: sender?.(paying.sender) ?? paying.sender } as P],
    fail: (error) => failures.push(error),
    monotonicMs: fastClockMs,
    timing: byFastClock({ ...TIMING, leaseTtlMs, ...timing }),
    ...given,
    ...options,
  });
  app.start();
  return {
    app,
    failures,
    async stop() {
      await app.stop();
      await broker.close();
      await db.close();
      if (failures.length > 0) throw new AggregateError(failures, 'the service failed');
    },
  };
}
