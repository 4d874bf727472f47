import type { NetworkConfig } from '@opentill/contracts/network-config';
import { openDatabase } from '@opentill/db/database';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { startScanner as startEvmScanner } from '@opentill/scanner-evm/app';
import { startScanner as startSuiScanner } from '@opentill/scanner-sui/app';
import { startScanner as startTronScanner } from '@opentill/scanner-tron/app';
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
  EVM: { start: startEvmScanner, service: 'scanner-evm' },
  TRON: { start: startTronScanner, service: 'scanner-tron' },
  SUI: { start: startSuiScanner, service: 'scanner-sui' },
} as const;

let stop = (): Promise<void> => Promise.resolve();

answerParent(async (request: ScannerRequest) => {
  await stop();
  stop = () => Promise.resolve();
  if (request.ask === 'stop') return;
  const { start, service } = SCANNERS[request.family];
  const logger = createLogger({ service, level: 'error' });
  const pool = openDatabase({ url: request.databaseUrl, applicationName: `bench ${service}` });
  const broker = connectBroker({ url: request.amqpUrl, logger, name: `bench ${service}` });
  const app = start({
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
  stop = async () => {
    await app.stop();
    await broker.close();
    await pool.close();
  };
});
