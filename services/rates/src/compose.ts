import { openDatabase } from '@opentill/db/database';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { observePools } from '@opentill/runtime/observe-pools';
import { openResources, type Compose } from '@opentill/runtime/run-process';
import { STOP_LIMITS_MS } from '@opentill/runtime/stop-within';
import { createApp } from './app.ts';
import { readRatesConfig } from './config.ts';

const SERVICE = 'rates';

export const composeRates: Compose = async (env, { sharesProcess }) => {
  const config = readRatesConfig(env);
  const logger = createLogger({ service: SERVICE, level: config.logLevel });
  const metrics = createMetrics(SERVICE, { ofProcess: !sharesProcess });
  return openResources(async (onStop) => {
    const database = openDatabase({
      url: config.databaseUrl,
      applicationName: `${SERVICE} ${config.instanceId}`,
      poolMax: config.databasePoolMax,
      onConnectionLost: (error) => logger.warn('database connection lost', { error }),
      onPrimary: (news) => logger.warn('database primary', { ...news }),
    });
    onStop(() => database.close(STOP_LIMITS_MS.database));
    observePools(metrics, database);
    const app = createApp({ database, logger, metrics, clock: systemClock, newId, settings: config.rates });
    onStop(() => app.stop());
    app.start();
    const { healthPort: port, healthHost: host } = config;
    return { checks: app.checks, metrics, health: { port, host } };
  });
};
