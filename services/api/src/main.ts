import { evmAddressCodec } from '@opentill/chain-evm/address';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { openDatabase } from '@opentill/db/database';
import { createOutboxStore } from '@opentill/db/outbox';
import { parseSecretsKey } from '@opentill/db/sealed-secret';
import { connectBroker } from '@opentill/messaging/connection';
import { createPublisher } from '@opentill/messaging/publisher';
import { startRelay } from '@opentill/messaging/relay';
import { systemClock } from '@opentill/runtime/clock';
import { readConfig } from '@opentill/runtime/config';
import { createHealthServer } from '@opentill/runtime/health';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { runService } from '@opentill/runtime/service';
import { readPublicKeys } from '@opentill/wallet/public-keys';
import { createApp } from './app.ts';
import { createDerivationThread } from './derive-in-worker.ts';
import { API_CONFIG_SCHEMA, toSettings, type ApiConfig } from './config.ts';

const name = 'api';
/** Nobody waits for the first callback of an order to the millisecond, and orders come one by one. */
const RELAY_GATHER_MS = 20;
const config = readConfig<ApiConfig>(API_CONFIG_SCHEMA, process.env);
const logger = createLogger({ service: name, level: config.LOG_LEVEL });

await runService({
  name,
  logger,
  start: async () => {
    const codecs = [evmAddressCodec];
    const secretsKey = parseSecretsKey(config.SECRETS_KEY);
    const networks = await readNetworkFile(config.NETWORKS_FILE, process.env);
    const publicKeys = await readPublicKeys(config.PUBLIC_KEYS_FILE, codecs);
    const metrics = createMetrics(name);
    const database = openDatabase({
      url: config.DATABASE_URL,
      applicationName: `${name} ${config.INSTANCE_ID}`,
      poolMax: config.DATABASE_POOL_MAX,
      statementTimeoutMs: 5_000,
      connectTimeoutMs: 3_000,
      prepareStatements: config.DATABASE_PREPARE === true,
      onConnectionLost: (error) => logger.warn('database connection lost', { error }),
    });
    const broker = connectBroker({ url: config.AMQP_URL, logger, name });
    const store = createOutboxStore(database.kysely, 'api');
    const relay = startRelay({
      store,
      publisher: createPublisher(broker),
      gatherMs: RELAY_GATHER_MS,
      logger,
      metrics,
    });
    const derivation = createDerivationThread(publicKeys);
    const app = createApp({
      database,
      networks,
      codecs,
      publicKeys,
      deriveAddresses: derivation.derive,
      secretsKey,
      clock: systemClock,
      newId,
      logger,
      metrics,
      wakeRelay: relay.wake,
      brokerConnected: () => broker.state === 'connected',
      settings: toSettings(config),
    });
    const { HEALTH_PORT: port, HEALTH_HOST: host } = config;
    const health = createHealthServer({ port, host, metrics, checks: app.checks });
    await health.start();
    await app.start();
    return {
      stop: async () => {
        health.drain();
        await app.stop();
        await derivation.stop();
        await relay.stop();
        await broker.close();
        await database.close();
        await health.stop();
      },
    };
  },
});
