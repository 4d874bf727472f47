import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { openDatabase } from '@opentill/db/database';
import { createOutboxStore } from '@opentill/db/outbox';
import { connectBroker } from '@opentill/messaging/connection';
import { createPublisher } from '@opentill/messaging/publisher';
import { startRelay } from '@opentill/messaging/relay';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { observePools } from '@opentill/runtime/observe-pools';
import { openResources, type Compose } from '@opentill/runtime/run-process';
import { startTracing } from '@opentill/runtime/start-tracing';
import { STOP_LIMITS_MS } from '@opentill/runtime/stop-within';
import { createApp } from './app.ts';
import { readOpsConfig } from './config.ts';

const SERVICE = 'ops';
const ACT_POOL_MAX = 4;
const ACT_STATEMENT_TIMEOUT_MS = 10_000;
const READ_STATEMENT_TIMEOUT_MS = 3_000;
const EXPORT_STATEMENT_TIMEOUT_MS = 120_000;
const EXPORT_POOL_MAX = 2;

export const composeOps: Compose = async (env, { sharesProcess }) => {
  const config = readOpsConfig(env);
  const { instanceId: instance, port, host, secretsKey } = config;
  const logger = createLogger({ service: SERVICE, level: config.logLevel });
  const networks = await readNetworkFile(config.networksFile, env);
  const metrics = createMetrics(SERVICE, { ofProcess: !sharesProcess });
  return openResources(async (onStop) => {
    onStop(await startTracing({ service: SERVICE, instanceId: instance, settings: config.tracing, logger }));
    const open = (applicationName: string, poolMax: number, statementTimeoutMs: number) => {
      const database = openDatabase({
        url: config.databaseUrl,
        applicationName: `${applicationName} ${instance}`,
        poolMax,
        statementTimeoutMs,
        onConnectionLost: (error) => logger.warn('database connection lost', { error }),
        onPrimary: (news) => logger.warn('database primary', { ...news }),
      });
      onStop(() => database.close(STOP_LIMITS_MS.database));
      return database;
    };
    const database = open(SERVICE, ACT_POOL_MAX, ACT_STATEMENT_TIMEOUT_MS);
    const readDatabase = open(`${SERVICE} reads`, config.databasePoolMax, READ_STATEMENT_TIMEOUT_MS);
    const exportDatabase = open(`${SERVICE} exports`, EXPORT_POOL_MAX, EXPORT_STATEMENT_TIMEOUT_MS);
    observePools(metrics, database, readDatabase, exportDatabase);
    const broker = connectBroker({ url: config.amqpUrl, logger, name: `${SERVICE} ${instance}` });
    onStop(() => broker.close());
    const publisher = createPublisher(broker);
    const store = createOutboxStore(database.kysely, 'ops');
    const relay = startRelay({ store, publisher, logger, metrics });
    onStop(() => relay.stop());
    const app = createApp({
      database,
      readDatabase,
      exportDatabase,
      networks,
      secretsKey,
      clock: systemClock,
      newId,
      logger,
      metrics,
      wakeRelay: relay.wake,
      brokerConnected: () => broker.state === 'connected',
      instance,
      port,
      host,
    });
    onStop(() => app.stop());
    await app.start();
    const health = { port: config.healthPort, host: config.healthHost };
    return { checks: app.checks, metrics, health };
  });
};
