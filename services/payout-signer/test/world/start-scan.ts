import { randomUUID } from 'node:crypto';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import type { Family } from '@opentill/domain/chains';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { createObserve } from '@opentill/scanner/observe';
import { createChainGates, startChainScan, type ChainScan } from '@opentill/scanner/scan-chain';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import { createScanStore } from '@opentill/scanner/store/scan-store';
import { LEASE_TTL_MS } from './quick-timing.ts';
import { CODECS } from './test-keys.ts';

export function startScan(
  config: NetworkConfig,
  db: Db,
  {
    reader,
    canonicalContract = CODECS[config.family].parse,
    onCommitted,
  }: {
    readonly reader: ChainReader;
    readonly canonicalContract?: (contract: string) => string | undefined;
    readonly onCommitted: () => void;
  },
): ChainScan {
  const schema = `scanner_${config.family.toLowerCase() as Lowercase<Family>}` as const;
  const logger = createLogger({ service: 'scanner', level: 'silent' });
  return startChainScan({
    network: scanNetworkOf(config, canonicalContract),
    reader,
    store: createScanStore({ db, schema, clock: systemClock, newId }),
    observe: createObserve({
      logger,
      metrics: createMetrics('scanner', { ofProcess: false }),
      clock: systemClock,
    }),
    clock: systemClock,
    lease: keepLease({
      db,
      schema,
      name: `chain:${config.chain}`,
      holder: randomUUID(),
      ttlMs: LEASE_TTL_MS,
    }),
    leaseIntervalMs: 1_000,
    onCommitted,
    gates: createChainGates(systemClock, (error) => {
      throw error;
    }),
  });
}
