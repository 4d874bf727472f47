import { readPageAssets } from '@opentill/checkout/page-assets';
import { readTheme } from '@opentill/checkout/read-theme';
import { networkKindOf } from '@opentill/contracts/network-kind';
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
import { openResources, type Compose } from '@opentill/runtime/run-process';
import { startTracing } from '@opentill/runtime/start-tracing';
import { STOP_LIMITS_MS } from '@opentill/runtime/stop-within';
import { publicKeysFor, readPublicKeys } from '@opentill/wallet/public-keys';
import { ADDRESS_CODECS } from './address-codecs.ts';
import { createApp } from './app.ts';
import { createDerivationThread } from './derive-in-worker.ts';
import { readApiConfig } from './config.ts';

const SERVICE = 'api';
/** Orders arrive one by one, and an order's first callback may be a few milliseconds late. */
const RELAY_GATHER_MS = 20;
/** Longer than a proxy takes to send a request on a connection that it believes to be open. */
const DRAIN_MS = 2_000;

export const composeApi: Compose = async (env, { sharesProcess }) => {
  const config = readApiConfig(env);
  const logger = createLogger({ service: SERVICE, level: config.logLevel });
  const networks = await readNetworkFile(config.networksFile, env);
  const keysFile = await readPublicKeys(config.publicKeysFile, ADDRESS_CODECS);
  const publicKeys = publicKeysFor(keysFile, networkKindOf(networks));
  const { checkoutThemeFile, walletConnect } = config;
  const checkout = { ...(await readTheme(checkoutThemeFile)), assets: readPageAssets(), walletConnect };
  const metrics = createMetrics(SERVICE, { ofProcess: !sharesProcess });
  return openResources(async (onStop) => {
    onStop(
      await startTracing({
        service: SERVICE,
        instanceId: config.instanceId,
        settings: config.tracing,
        logger,
      }),
    );
    const database = openDatabase({
      url: config.databaseUrl,
      applicationName: `${SERVICE} ${config.instanceId}`,
      poolMax: config.databasePoolMax,
      statementTimeoutMs: 5_000,
      connectTimeoutMs: 3_000,
      prepareStatements: config.databasePrepare,
      onConnectionLost: (error) => logger.warn('database connection lost', { error }),
      onPrimary: (news) => logger.warn('database primary', { ...news }),
    });
    onStop(() => database.close(STOP_LIMITS_MS.database));
    const broker = connectBroker({ url: config.amqpUrl, logger, name: SERVICE });
    onStop(() => broker.close());
    const relay = startRelay({
      store: createOutboxStore(database.kysely, 'api'),
      publisher: createPublisher(broker),
      gatherMs: RELAY_GATHER_MS,
      logger,
      metrics,
    });
    onStop(() => relay.stop());
    const derivation = createDerivationThread(publicKeys);
    onStop(() => derivation.stop());
    const app = createApp({
      database,
      networks,
      codecs: ADDRESS_CODECS,
      publicKeys,
      deriveAddresses: derivation.derive,
      secretsKey: config.secretsKey,
      clock: systemClock,
      newId,
      logger,
      metrics,
      wakeRelay: relay.wake,
      brokerConnected: () => broker.state === 'connected',
      checkout,
      settings: { ...config.app, drainMs: DRAIN_MS },
    });
    onStop(() => app.stop());
    await app.start();
    const { healthPort: port, healthHost: host } = config;
    return { checks: app.checks, metrics, health: { port, host } };
  });
};
