import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { openDatabase } from '@opentill/db/database';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { createHealthServer } from '@opentill/runtime/health';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { runService } from '@opentill/runtime/service';
import { STOP_LIMITS_MS } from '@opentill/runtime/stop-within';
import { startTracker } from './app.ts';
import { readTrackerConfig } from './config.ts';

const SERVICE = 'confirmation-tracker';

await runService({
  name: SERVICE,
  logger: createLogger({ service: SERVICE, level: 'info' }),
  start: async () => {
    const config = readTrackerConfig(process.env);
    const { instanceId } = config;
    const logger = createLogger({ service: SERVICE, level: config.logLevel });
    const networks = await readNetworkFile(config.networksFile, process.env);
    const metrics = createMetrics(SERVICE);
    const opened: (() => Promise<void>)[] = [];
    const closeAll = async () => {
      for (const close of opened.splice(0).toReversed()) await close();
    };
    try {
      const database = openDatabase({
        url: config.databaseUrl,
        applicationName: `${SERVICE} ${instanceId}`,
        poolMax: config.databasePoolMax,
        prepareStatements: config.databasePrepare,
        onConnectionLost: (error) => logger.warn('database connection lost', { error }),
      });
      opened.push(() => database.close(STOP_LIMITS_MS.database));
      const broker = connectBroker({ url: config.amqpUrl, logger, name: `${SERVICE} ${instanceId}` });
      opened.push(() => broker.close());
      const app = await startTracker({
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
      opened.push(() => app.stop());
      const health = createHealthServer({
        port: config.healthPort,
        host: config.healthHost,
        metrics,
        checks: app.checks,
      });
      await health.start();
      opened.push(() => health.stop());
      opened.push(() => Promise.resolve(health.drain()));
    } catch (error) {
      await closeAll();
      throw error;
    }
    return { stop: closeAll };
  },
});
