import { openDatabase } from '@opentill/db/database';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { observePools } from '@opentill/runtime/observe-pools';
import { openResources, type Compose } from '@opentill/runtime/run-process';
import { startTracing } from '@opentill/runtime/start-tracing';
import { STOP_LIMITS_MS } from '@opentill/runtime/stop-within';
import { createApp } from './app.ts';
import { readWebhookSenderConfig } from './config.ts';
import { createHostResolver } from './resolve-host.ts';

const SERVICE = 'webhook-sender';

export const composeWebhookSender: Compose = async (env, { sharesProcess }) => {
  const config = readWebhookSenderConfig(env);
  const { instanceId: instance } = config;
  const logger = createLogger({ service: SERVICE, level: config.logLevel });
  const metrics = createMetrics(SERVICE, { ofProcess: !sharesProcess });
  return openResources(async (onStop) => {
    onStop(await startTracing({ service: SERVICE, instanceId: instance, settings: config.tracing, logger }));
    const database = openDatabase({
      url: config.databaseUrl,
      applicationName: `${SERVICE} ${instance}`,
      poolMax: config.databasePoolMax,
      prepareStatements: config.databasePrepare, // planning a claim takes longer than executing it
      onConnectionLost: (error) => logger.warn('database connection lost', { error }),
      onPrimary: (news) => logger.warn('database primary', { ...news }),
    });
    onStop(() => database.close(STOP_LIMITS_MS.database));
    observePools(metrics, database);
    const broker = connectBroker({ url: config.amqpUrl, logger, name: `${SERVICE} ${instance}` });
    onStop(() => broker.close());
    const resolveHost = createHostResolver({ localNames: config.allowedCallbackAddresses.length > 0 });
    const app = createApp({
      database,
      broker,
      logger,
      metrics,
      clock: systemClock,
      random: Math.random,
      resolveHost,
      secretsKey: config.secretsKey,
      settings: { ...config, instance },
    });
    onStop(() => app.stop());
    app.start();
    const { healthPort: port, healthHost: host } = config;
    return { checks: app.checks, metrics, health: { port, host } };
  });
};
