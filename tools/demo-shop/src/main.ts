import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { systemClock } from '@opentill/runtime/clock';
import { readConfig } from '@opentill/runtime/config';
import { createHealthServer } from '@opentill/runtime/health';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { mapStackTraces } from '@opentill/runtime/map-stack-traces';
import { createMetrics } from '@opentill/runtime/metrics';
import { runService } from '@opentill/runtime/service';
import { createOpentill } from '@opentill/sdk/client';
import { createApp } from './app.ts';
import { SHOP_CONFIG_SCHEMA, type ShopEnvironment } from './config.ts';
import { createDevnetWallet } from './devnet-wallet.ts';

const name = 'demo-shop';
const logger = createLogger({ service: name, level: 'info' });

mapStackTraces();
await runService({
  name,
  logger,
  start: async () => {
    const config = readConfig<ShopEnvironment>(SHOP_CONFIG_SCHEMA, process.env);
    const networks = await readNetworkFile(config.NETWORKS_FILE, process.env);
    const enabled = networks.filter((network) => network.enabled);
    const app = createApp({
      port: config.PORT,
      host: config.HOST,
      machineHost: config.MACHINE_HOST,
      networks: enabled,
      opentill: createOpentill({ url: config.GATEWAY_URL, token: config.MERCHANT_TOKEN }),
      webhookSecret: config.WEBHOOK_SECRET,
      wallet: createDevnetWallet(enabled),
      clock: systemClock,
      newId,
      logger,
    });
    const health = createHealthServer({
      port: config.HEALTH_PORT,
      host: config.HEALTH_HOST,
      metrics: createMetrics(name),
      checks: {},
    });
    await app.start();
    await health.start();
    return {
      stop: async () => {
        await health.stop();
        await app.stop();
      },
    };
  },
});
