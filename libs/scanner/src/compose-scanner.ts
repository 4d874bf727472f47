import type { NetworkConfig } from '@opentill/contracts/network-config';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { findSourceRisks } from '@opentill/contracts/source-risks';
import { openDatabase } from '@opentill/db/database';
import type { Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { observePools } from '@opentill/runtime/observe-pools';
import { openResources, type Compose } from '@opentill/runtime/run-process';
import { startTracing } from '@opentill/runtime/start-tracing';
import { STOP_LIMITS_MS } from '@opentill/runtime/stop-within';
import { readScannerConfig, type scannerConfigSchema } from './scanner-config.ts';
import type { ScannerApp, ScannerDeps } from './create-scanner.ts';

export interface ScannerService {
  readonly service: string;
  readonly family: Family;
  readonly schema: ReturnType<typeof scannerConfigSchema>;
  readonly createApp: (
    deps: Omit<ScannerDeps, 'schema' | 'openNetworks'> & { readonly networks: readonly NetworkConfig[] },
  ) => ScannerApp;
}

export function composeFamilyScanner({ service, family, schema, createApp }: ScannerService): Compose {
  return async (env, { fail, sharesProcess }) => {
    const config = readScannerConfig(schema, env);
    const { instanceId } = config;
    const logger = createLogger({ service, level: config.logLevel });
    const file = await readNetworkFile(config.networksFile, env);
    const networks = selectNetworks(file, family, config.chains);
    for (const risk of findSourceRisks(networks)) logger.warn('source risk', { ...risk });
    if (networks.length === 0)
      logger.warn(`no network to scan: the network file enables no ${family} network`);
    const metrics = createMetrics(service, { ofProcess: !sharesProcess });
    return openResources(async (onStop) => {
      onStop(await startTracing({ service, instanceId, settings: config.tracing, logger }));
      const database = openDatabase({
        url: config.databaseUrl,
        applicationName: `${service} ${instanceId}`,
        poolMax: config.databasePoolMax,
        prepareStatements: config.databasePrepare,
        onConnectionLost: (error) => logger.warn('database connection lost', { error }),
        onPrimary: (news) => logger.warn('database primary', { ...news }),
      });
      onStop(() => database.close(STOP_LIMITS_MS.database));
      observePools(metrics, database);
      const broker = connectBroker({ url: config.amqpUrl, logger, name: `${service} ${instanceId}` });
      onStop(() => broker.close());
      const app = createApp({
        db: database.kysely,
        broker,
        logger,
        metrics,
        clock: systemClock,
        newId,
        networks,
        instanceId,
        // Services that share the process continue.
        fail: sharesProcess ? () => undefined : fail,
      });
      onStop(() => app.stop());
      app.start();
      const { healthPort: port, healthHost: host } = config;
      return { checks: app.checks, liveness: app.liveness, metrics, health: { port, host } };
    });
  };
}

function selectNetworks(
  networks: readonly NetworkConfig[],
  family: Family,
  chains: readonly string[] | undefined,
): readonly NetworkConfig[] {
  const enabled = networks.filter((network) => network.family === family && network.enabled);
  const unknown = (chains ?? []).filter((chain) => !enabled.some((network) => network.chain === chain));
  if (unknown.length === 0) return enabled.filter((network) => chains?.includes(network.chain) ?? true);
  const message = `CHAINS names no enabled ${family} network of the network file: ${unknown.join(', ')}`;
  throw new GatewayError('CHAINS_INVALID', message, { retryable: false });
}
