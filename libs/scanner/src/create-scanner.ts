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
import type { Chain } from '@opentill/domain/chains';
import type { CheckResult, Checks } from '@opentill/runtime/health';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { STOP_LIMITS_MS, stopWithin } from '@opentill/runtime/stop-within';
import { createObserve, type ScanObserver } from './observe.ts';
import type { NodeObserver } from './observe/nodes.ts';
import { createChainGates, startChainScan, type ChainScan } from './scan-chain.ts';
import type { ScanNetwork } from './scan-network.ts';
import { createScanStore } from './store/scan-store.ts';

export interface ScannedNetwork {
  readonly network: ScanNetwork;
  readonly reader: ChainReader;
}

export interface ScannerDeps {
  readonly db: Db;
  readonly schema: ServiceSchema;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Called at once; an error is a configuration mistake. The readers report to `nodes`. */
  readonly openNetworks: (nodes: NodeObserver) => readonly ScannedNetwork[];
  readonly instanceId: string;
  /** Receives the error when no chain passes its start-up checks; the service must then end. */
  readonly fail: (error: unknown) => void;
  /** Time until the lease of a silent replica expires. @default 5000 */
  readonly leaseTtlMs?: number;
}

export interface ScannerApp {
  /** Checks by chain name (see readinessOf), plus the broker, which never fails /readyz. */
  readonly checks: Checks;
  /** Fails when a restart may help: see livenessOf. */
  readonly liveness: Checks;
  start(): void;
  /** Stops scanning first, so that no commit follows; takes at most 6 s. Unpublished events stay in the outbox. */
  stop(): Promise<void>;
}

const LEASE_TTL_MS = 5_000;

/**
 * Each chain has its own lease, held until its replica stops or dies. Replicas that start later stand by; leases are
 * not balanced. If one process cannot scan all chains, split them with CHAINS.
 */
export function createScanner(deps: ScannerDeps): ScannerApp {
  const { broker, logger, metrics, clock } = deps;
  const observe = createObserve({ logger, metrics, clock });
  const networks = deps.openNetworks(observe.nodes);
  const chainChecks = networks.map(
    ({ network: { chain } }) =>
      [chain, () => Promise.resolve(readinessOf(chain, networks, observe))] as const,
  );
  let work: Work | undefined;
  return {
    checks: {
      ...Object.fromEntries(chainChecks),
      // Without a broker events wait in the database while scanning continues.
      broker: () => Promise.resolve({ ok: true, detail: broker.state }),
    },
    liveness: { rounds: () => Promise.resolve(observe.liveness()) },
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

/**
 * A chain that fails makes the process unready only if all its chains fail. Otherwise one wrong endpoint would block a
 * rolling update for the other chains; the chain's state and its alarms report it. A starting chain does make it
 * unready, so that the replica before continues meanwhile.
 */
function readinessOf(
  chain: Chain,
  networks: readonly ScannedNetwork[],
  observe: Pick<ScanObserver, 'health' | 'status'>,
): CheckResult {
  const own = observe.health(chain);
  if (own.ok || observe.status(chain).state === 'STARTING') return own;
  return { ...own, ok: networks.some(({ network }) => observe.health(network.chain).ok) };
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
