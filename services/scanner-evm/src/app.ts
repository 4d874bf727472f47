import { evmFamily } from '@opentill/chain-evm/family';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import { createOutboxStore } from '@opentill/db/outbox';
import { announcePresence } from '@opentill/db/presence';
import type { Broker } from '@opentill/messaging/connection';
import { createPublisher } from '@opentill/messaging/publisher';
import { startRelay } from '@opentill/messaging/relay';
import type { Clock } from '@opentill/runtime/clock';
import type { Checks } from '@opentill/runtime/health';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { STOP_LIMITS_MS, stopWithin } from '@opentill/runtime/stop-within';
import { createScanObserver } from '@opentill/scanner/observe';
import { startChainScan } from '@opentill/scanner/scan-chain';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import { createScanStore } from '@opentill/scanner/store';
import { createObserve } from './observe.ts';

export interface ScannerDeps {
  /** As the role opentill_scanner_evm. */
  readonly db: Db;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly newId: NewId;
  /** EVM networks, each scanned by itself. */
  readonly networks: readonly NetworkConfig[];
  /** Unique to the process. */
  readonly instanceId: string;
  /** Told of what only the operator can mend; the service must then end. */
  readonly fail: (error: unknown) => void;
  /** How long a chain stays with a replica that says nothing. @default 5000 */
  readonly leaseTtlMs?: number;
}

/** The service without its process. */
export interface ScannerApp {
  /** What /readyz asks: each chain by its name, and the broker for show. */
  readonly checks: Checks;
  /** Scans first, so that nothing new is committed; within 6 s, whatever hangs. What is not yet published waits. */
  stop(): Promise<void>;
}

const SCHEMA = 'scanner_evm';
const LEASE_TTL_MS = 5_000;

/**
 * Scans all given networks, relays the events and announces this instance. Closes none of what it was given.
 *
 * Each chain has a lease of its own, and whoever asks first for a free one has it until it stops or dies: replicas
 * that start later stand by and take over, they share out nothing by themselves. Where one process is not enough for
 * all chains, CHAINS gives each its own.
 */
export function startScanner(deps: ScannerDeps): ScannerApp {
  const { db, broker, logger, metrics, clock, newId, instanceId } = deps;
  const leaseTtlMs = deps.leaseTtlMs ?? LEASE_TTL_MS;
  const scanObserver = createScanObserver({ logger, metrics, clock });
  const observe = createObserve({ logger, metrics, scans: scanObserver });
  const store = createScanStore({ db, schema: SCHEMA, clock, newId });
  // Before anything starts: a network that is not one is the operator's mistake.
  const networks = deps.networks.map((config) => ({
    network: scanNetworkOf(config, evmFamily.addressCodec.parse),
    reader: evmFamily.createReader(config, observe.node(config.chain)),
  }));
  const publisher = createPublisher(broker);
  const relay = startRelay({ store: createOutboxStore(db, SCHEMA), publisher, logger, metrics });
  const scans = networks.map(({ network, reader }) =>
    startChainScan({
      network,
      reader,
      store,
      observe: scanObserver,
      clock,
      lease: keepLease({
        db,
        schema: SCHEMA,
        name: `chain:${network.chain}`,
        holder: instanceId,
        ttlMs: leaseTtlMs,
        logger,
      }),
      leaseIntervalMs: leaseTtlMs / 3,
      onCommitted: () => relay.wake(),
      onMisconfigured: deps.fail,
    }),
  );
  const presence = announcePresence({
    db,
    schema: SCHEMA,
    instance: instanceId,
    onError: (error) => observe.presenceFailed(error),
  });

  const chainChecks = scans.map(
    ({ chain }) => [chain, () => Promise.resolve(scanObserver.health(chain))] as const,
  );
  return {
    checks: {
      ...Object.fromEntries(chainChecks),
      // Without a broker events wait in the database; scanning goes on.
      broker: () => Promise.resolve({ ok: true, detail: broker.state }),
    },
    async stop() {
      const stopScans = scans.map((scan) => [scan.chain, () => scan.stop()] as const);
      await stopWithin(STOP_LIMITS_MS.intake, Object.fromEntries(stopScans), logger);
      await stopWithin(
        STOP_LIMITS_MS.tail,
        { relay: () => relay.stop(), presence: () => presence.stop() },
        logger,
      );
    },
  };
}
