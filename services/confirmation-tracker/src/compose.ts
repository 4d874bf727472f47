import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { openDatabase } from '@opentill/db/database';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { observePools } from '@opentill/runtime/observe-pools';
import { openResources, type Compose } from '@opentill/runtime/run-process';
import { startTracing } from '@opentill/runtime/start-tracing';
import { STOP_LIMITS_MS } from '@opentill/runtime/stop-within';
import { createApp } from './app.ts';
import { readTrackerConfig } from './config.ts';

const SERVICE = 'confirmation-tracker';

export const composeTracker: Compose = async (env, { sharesProcess }) => {
  const config = readTrackerConfig(env);
  const { instanceId } = config;
  const logger = createLogger({ service: SERVICE, level: config.logLevel });
  const networks = await readNetworkFile(config.networksFile, env);
  const metrics = createMetrics(SERVICE, { ofProcess: !sharesProcess });
  return openResources(async (onStop) => {
    onStop(await startTracing({ service: SERVICE, instanceId, settings: config.tracing, logger }));
    const database = openDatabase({
      url: config.databaseUrl,
      applicationName: `${SERVICE} ${instanceId}`,
      poolMax: config.databasePoolMax,
      prepareStatements: config.databasePrepare,
      onConnectionLost: (error) => logger.warn('database connection lost', { error }),
      onPrimary: (news) => logger.warn('database primary', { ...news }),
    });
    onStop(() => database.close(STOP_LIMITS_MS.database));
    observePools(metrics, database);
    const broker = connectBroker({ url: config.amqpUrl, logger, name: `${SERVICE} ${instanceId}` });
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
      timing: { inboxKeptSeconds: config.inboxKeptSeconds },
    });
    onStop(() => app.stop());
    await app.start();
    const { healthPort: port, healthHost: host } = config;
    return { checks: app.checks, metrics, health: { port, host } };
  });
};
