import type { ChainReader } from '@opentill/chain/chain-reader';
import type { Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import { createOutboxStore } from '@opentill/db/outbox';
import { announcePresence } from '@opentill/db/presence';
import type { ServiceSchema } from '@opentill/db/service-schema';
import type { Broker } from '@opentill/messaging/connection';
import { createPublisher } from '@opentill/messaging/publisher';
import { startRelay } from '@opentill/messaging/relay';
import type { Clock } from '@opentill/runtime/clock';
import type { Checks } from '@opentill/runtime/health';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { STOP_LIMITS_MS, stopWithin } from '@opentill/runtime/stop-within';
import { createObserve, type ScanObserver } from './observe.ts';
import type { NodeObserver } from './observe/nodes.ts';
import { createChainGates, startChainScan, type ChainScan } from './scan-chain.ts';
import type { ScanNetwork } from './scan-network.ts';
import { createScanStore } from './store/scan-store.ts';

/** A network with what reads it. */
export interface ScannedNetwork {
  readonly network: ScanNetwork;
  readonly reader: ChainReader;
}

export interface ScannerDeps {
  /** As the role of the schema. */
  readonly db: Db;
  readonly schema: ServiceSchema;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly newId: NewId;
  /**
   * Makes the networks, each scanned by itself, with readers that tell `nodes` of their work. Called at once: what it
   * throws, of a network that is none, is the operator's mistake.
   */
  readonly openNetworks: (nodes: NodeObserver) => readonly ScannedNetwork[];
  /** Unique to the process. */
  readonly instanceId: string;
  /** Receives the error when no chain passes its start-up checks; the service must then end. */
  readonly fail: (error: unknown) => void;
  /** How long a chain stays with a replica that says nothing. @default 5000 */
  readonly leaseTtlMs?: number;
}

/** A scanner service without its process. */
export interface ScannerApp {
  /** What /readyz asks: each chain by its name, and the broker for show. */
  readonly checks: Checks;
  /** Scans all networks, relays the events and announces this instance. */
  start(): void;
  /** Scans first, so that nothing new is committed; within 6 s, whatever hangs. What is not yet published waits. */
  stop(): Promise<void>;
}

const LEASE_TTL_MS = 5_000;

/**
 * Makes a scanner of all given networks. It closes nothing of `deps`.
 *
 * Each chain has a lease of its own, and whoever asks first for a free one has it until it stops or dies: replicas
 * that start later stand by and take over, they share out nothing by themselves. Where one process is not enough for
 * all chains, CHAINS gives each its own.
 */
export function createScanner(deps: ScannerDeps): ScannerApp {
  const { broker, logger, metrics, clock } = deps;
  const observe = createObserve({ logger, metrics, clock });
  const networks = deps.openNetworks(observe.nodes);
  const chainChecks = networks.map(
    ({ network: { chain } }) => [chain, () => Promise.resolve(observe.health(chain))] as const,
  );
  let work: Work | undefined;
  return {
    checks: {
      ...Object.fromEntries(chainChecks),
      // Without a broker events wait in the database; scanning goes on.
      broker: () => Promise.resolve({ ok: true, detail: broker.state }),
    },
    start() {
      work ??= startWork(deps, observe, networks);
    },
    async stop() {
      if (work === undefined) return;
      const { scans, relay, presence } = work;
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

interface Work {
  readonly scans: readonly ChainScan[];
  readonly relay: { stop(): Promise<void> };
  readonly presence: { stop(): Promise<void> };
}

function startWork(deps: ScannerDeps, observe: ScanObserver, networks: readonly ScannedNetwork[]): Work {
  const { db, schema, broker, logger, metrics, clock, newId, instanceId } = deps;
  const leaseTtlMs = deps.leaseTtlMs ?? LEASE_TTL_MS;
  const store = createScanStore({ db, schema, clock, newId });
  const gates = createChainGates(clock, deps.fail);
  const publisher = createPublisher(broker);
  const relay = startRelay({ store: createOutboxStore(db, schema), publisher, logger, metrics });
  const scans = networks.map(({ network, reader }) =>
    startChainScan({
      network,
      reader,
      store,
      observe,
      clock,
      lease: keepLease({
        db,
        schema,
        name: `chain:${network.chain}`,
        holder: instanceId,
        ttlMs: leaseTtlMs,
        logger,
      }),
      leaseIntervalMs: leaseTtlMs / 3,
      onCommitted: () => relay.wake(),
      gates,
    }),
  );
  const presence = announcePresence({
    db,
    schema,
    instance: instanceId,
    onError: (error) => logger.warn('presence not announced', { error }),
  });
  return { scans, relay, presence };
}
