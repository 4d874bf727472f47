import { evmAddressCodec } from '@opentill/chain-evm/address';
import { suiAddressCodec } from '@opentill/chain-sui/address-codec';
import { tronAddressCodec } from '@opentill/chain-tron/address-codec';
import { networkKindOf } from '@opentill/contracts/network-kind';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { openDatabase } from '@opentill/db/database';
import { readConfig } from '@opentill/runtime/config';
import { createHealthServer } from '@opentill/runtime/health';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { exitCodeOf, runService } from '@opentill/runtime/service';
import { publicKeysFor, readPublicKeys } from '@opentill/wallet/public-keys';
import {
  CHAIN_CONFIG_SCHEMA,
  FUND_CONFIG_SCHEMA,
  type ChainVariables,
  type FundVariables,
} from './config.ts';
import { fundHotWallets } from './fund-hot-wallets.ts';
import { startChain } from './start-chain.ts';

// Local chains of docker-compose's profile devnet. Command `chain` runs the node of CHAIN with the test tokens.
// Command `fund` waits for the scanners, funds the hot wallets and exits.
const [command = ''] = process.argv.slice(2);
const logger = createLogger({ service: `devnet-${command}`, level: 'info' });
const SCANNERS_DEADLINE_MS = 180_000;

switch (command) {
  case 'chain':
    await runChain();
    break;
  case 'fund':
    process.exitCode = await fund().then(
      () => 0,
      (error: unknown) => {
        logger.error('not funded', { error });
        return exitCodeOf(error);
      },
    );
    break;
  default:
    logger.error('command must be chain or fund', { command });
    process.exitCode = 1;
}

async function runChain(): Promise<void> {
  await runService({
    name: 'devnet-chain',
    logger,
    start: async (_signal, fail) => {
      const config = readConfig<ChainVariables>(CHAIN_CONFIG_SCHEMA, process.env);
      const chain = await startChain(await readNetworkFile(config.NETWORKS_FILE, {}), config);
      const { checks } = chain;
      const metrics = createMetrics('devnet');
      const health = createHealthServer({
        port: config.HEALTH_PORT,
        host: config.HEALTH_HOST,
        metrics,
        checks,
      });
      await health.start();
      let stopping = false;
      void chain.ended.then((lastWords) => {
        if (!stopping) fail(new Error(`the node ended: ${lastWords}`));
      });
      return {
        stop: async () => {
          stopping = true;
          await health.stop();
          await chain.stop();
        },
      };
    },
  });
}

async function fund(): Promise<void> {
  const config = readConfig<FundVariables>(FUND_CONFIG_SCHEMA, process.env);
  const networks = await readNetworkFile(config.NETWORKS_FILE, process.env);
  const codecs = [evmAddressCodec, tronAddressCodec, suiAddressCodec];
  const file = await readPublicKeys(config.PUBLIC_KEYS_FILE, codecs);
  const keys = publicKeysFor(file, networkKindOf(networks));
  const database = openDatabase({ url: config.DATABASE_URL, applicationName: 'devnet-fund', poolMax: 1 });
  try {
    await fundHotWallets({
      db: database.kysely,
      networks: networks.filter(({ enabled }) => enabled),
      hotWalletOf: (family) => keys.families[family].hotWallets[0],
      deadlineMs: SCANNERS_DEADLINE_MS,
      onFunded: (funded) => logger.info('hot wallet', { ...funded }),
    });
  } finally {
    await database.close();
  }
}
