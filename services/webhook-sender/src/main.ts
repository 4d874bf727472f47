import { hostname } from 'node:os';
import { openDatabase } from '@opentill/db/database';
import { parseSecretsKey } from '@opentill/db/sealed-secret';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { readConfig } from '@opentill/runtime/config';
import { createHealthServer } from '@opentill/runtime/health';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { runService } from '@opentill/runtime/service';
import { createApp } from './app.ts';
import { WEBHOOK_SENDER_CONFIG_SCHEMA, type WebhookSenderEnvironment } from './config.ts';
import { resolveHostBySystem } from './resolve-host.ts';

const name = 'webhook-sender';
const config = readConfig<WebhookSenderEnvironment>(WEBHOOK_SENDER_CONFIG_SCHEMA, process.env);
const logger = createLogger({ service: name, level: config.LOG_LEVEL });

await runService({
  name,
  logger,
  start: async () => {
    const metrics = createMetrics(name);
    const database = openDatabase({
      url: config.DATABASE_URL,
      applicationName: name,
      poolMax: config.DATABASE_POOL_MAX,
    });
    const broker = connectBroker({ url: config.AMQP_URL, logger, name });
    const app = createApp(
      {
        instance: config.INSTANCE_ID ?? `${hostname()}-${process.pid}`,
        retryScheduleSeconds: config.RETRY_SCHEDULE_SECONDS.map(Number),
        allowedCallbackAddresses: config.ALLOWED_CALLBACK_ADDRESSES,
        allowHttpCallbacks: config.ALLOW_HTTP_CALLBACKS,
        concurrency: config.CALLBACK_CONCURRENCY,
        concurrencyPerEndpoint: config.CALLBACK_CONCURRENCY_PER_ENDPOINT,
      },
      {
        database,
        broker,
        logger,
        metrics,
        clock: systemClock,
        random: Math.random,
        resolveHost: resolveHostBySystem,
        secretsKey: parseSecretsKey(config.SECRETS_KEY),
      },
    );
    const health = createHealthServer({
      port: config.HEALTH_PORT,
      host: config.HEALTH_HOST,
      metrics,
      checks: app.checks,
    });
    app.start();
    await health.start();
    return {
      stop: async () => {
        await app.stop();
        await broker.close();
        await database.close();
        await health.stop();
      },
    };
  },
});
