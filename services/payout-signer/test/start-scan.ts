import { randomUUID } from 'node:crypto';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import type { ServiceSchema } from '@opentill/db/service-schema';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { createObserve } from '@opentill/scanner/observe';
import { createChainGates, startChainScan, type ChainScan } from '@opentill/scanner/scan-chain';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import { createScanStore } from '@opentill/scanner/store/scan-store';

/** The scanner of one chain, beside a signer of the tests. */
export function startScan(
  config: NetworkConfig,
  db: Db,
  of: {
    readonly schema: ServiceSchema;
    readonly reader: ChainReader;
    readonly canonicalContract: (contract: string) => string | undefined;
  },
): ChainScan {
  const { schema, reader, canonicalContract } = of;
  const service = schema.replace('_', '-');
  const logger = createLogger({ service, level: 'silent' });
  return startChainScan({
    network: scanNetworkOf(config, canonicalContract),
    reader,
    store: createScanStore({ db, schema, clock: systemClock, newId }),
    observe: createObserve({ logger, metrics: createMetrics(service), clock: systemClock }),
    clock: systemClock,
    lease: keepLease({
      db,
      schema,
      name: `chain:${config.chain}`,
      holder: randomUUID(),
      ttlMs: 5_000,
    }),
    leaseIntervalMs: 1_000,
    onCommitted: () => undefined,
    gates: createChainGates(systemClock, (error) => {
      throw error;
    }),
  });
}
