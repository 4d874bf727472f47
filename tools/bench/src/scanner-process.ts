import type { NetworkConfig } from '@opentill/contracts/network-config';
import { openDatabase } from '@opentill/db/database';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { createApp as createEvmScanner } from '@opentill/scanner-evm/app';
import { createApp as createSuiScanner } from '@opentill/scanner-sui/app';
import { createApp as createTronScanner } from '@opentill/scanner-tron/app';
import type { ScannedFamily } from './canned/plan.ts';
import { answerParent } from './child.ts';

export type ScannerRequest =
  | {
      readonly ask: 'start';
      readonly family: ScannedFamily;
      readonly databaseUrl: string;
      readonly amqpUrl: string;
      readonly networks: readonly NetworkConfig[];
    }
  | { readonly ask: 'stop' };

const SCANNERS = {
  EVM: { createApp: createEvmScanner, service: 'scanner-evm' },
  TRON: { createApp: createTronScanner, service: 'scanner-tron' },
  SUI: { createApp: createSuiScanner, service: 'scanner-sui' },
} as const;

let stop = (): Promise<void> => Promise.resolve();

answerParent(async (request: ScannerRequest) => {
  await stop();
  stop = () => Promise.resolve();
  if (request.ask === 'stop') return;
  const { createApp, service } = SCANNERS[request.family];
  const logger = createLogger({ service, level: 'error' });
  const pool = openDatabase({ url: request.databaseUrl, applicationName: `bench ${service}` });
  const broker = connectBroker({ url: request.amqpUrl, logger, name: `bench ${service}` });
  const app = createApp({
    db: pool.kysely,
    broker,
    logger,
    metrics: createMetrics(service),
    clock: systemClock,
    newId,
    networks: request.networks,
    instanceId: 'bench',
    fail(error) {
      process.stderr.write(`bench: the scanner failed: ${String(error)}\n`);
      process.exit(1);
    },
  });
  app.start();
  stop = async () => {
    await app.stop();
    await broker.close();
    await pool.close();
  };
});
