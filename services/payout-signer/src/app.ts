import type { Address } from '@opentill/chain/address-codec';
import type { DepositSigner } from '@opentill/chain/signer-backend';
import type { Db } from '@opentill/db/database';
import { ROLLED_ROWS_MAX, rollInbox } from '@opentill/db/housekeeping';
import { keepLease } from '@opentill/db/lease';
import { createOutboxStore } from '@opentill/db/outbox';
import { announcePresence } from '@opentill/db/presence';
import type { Chain } from '@opentill/domain/chains';
import type { Broker } from '@opentill/messaging/connection';
import { observeQueues } from '@opentill/messaging/observe-queues';
import { createPublisher } from '@opentill/messaging/publisher';
import { startRelay, type Relay } from '@opentill/messaging/relay';
import type { Clock } from '@opentill/runtime/clock';
import type { Checks } from '@opentill/runtime/health';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Metrics } from '@opentill/runtime/metrics';
import { STOP_LIMITS_MS, stopWithin } from '@opentill/runtime/stop-within';
import type { EnergySeller } from './energy/energy-seller.ts';
import { openExpiringDriver } from './expiring/drive-wallet.ts';
import { startWakingConsumers } from './handlers/wake-drivers.ts';
import { openNonceDriver } from './nonce/drive-wallet.ts';
import type { PassTiming } from './nonce/pass-deps.ts';
import { createObserve } from './observe/create-observe.ts';
import { observeDeposits } from './observe/observe-deposits.ts';
import type { Observe } from './observe/observe.ts';
import type { OfNetwork, PayingNetwork } from './payouts/paying-network.ts';
import type { PolicyJudge } from './policy/policy-port.ts';
import { checkDatabase } from './store/check-database.ts';
import { findDueDeposits } from './store/find-due-deposits.ts';
import { holdForChain } from './store/mark-halted.ts';
import { startPlanners, type PlanTiming } from './sweeps/start-planners.ts';
import { startWatchingSweeps } from './sweeps/watch-sweeps.ts';
import { startCheckingDeposits } from './wallet/check-deposits.ts';
import { checkDrivers } from './wallet/check-drivers.ts';
import { startDepositDrivers, type DepositDrivers } from './wallet/drive-deposits.ts';
import type { Driver, WalletParts } from './wallet/drive-wallet.ts';
import { openDrivenChains, type DrivenChains } from './wallet/driven-chain.ts';
import { startMarkingUnpayable } from './wallet/mark-unpayable.ts';
import { observeWaiting } from './wallet/observe-waiting.ts';
import { createClockReader } from './wallet/watch-clocks.ts';

export interface SignerDeps {
  readonly db: Db;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** @default performance.now */
  readonly monotonicMs?: () => number;
  readonly newId: NewId;
  readonly networks: readonly PayingNetwork[];
  /** Networks without a `payouts` section. Their payouts get the obstacle PAYOUTS_NOT_CONFIGURED, and expire. */
  readonly unpayable?: readonly OfNetwork[];
  readonly wallets: readonly Address[];
  readonly keys: Pick<DepositSigner, 'admitDeposit' | 'isDeposit'>;
  readonly policy: PolicyJudge;
  /** By chain (TRON). */
  readonly sellers?: ReadonlyMap<Chain, EnergySeller>;
  readonly instanceId: string;
  /** Directory of the send marks (nonce/nonce-mark.ts, expiring/send-mark.ts). Must outlive the database. */
  readonly stateDirectory: string;
  readonly fail: (error: unknown) => void;
  /** Called when no chain passes its start-up checks. @default fail */
  readonly onNoneUsable?: (error: unknown) => void;
  readonly timing?: Partial<SignerTiming>;
}

export interface SignerTiming extends Omit<PassTiming, 'bumpAfterMs'>, PlanTiming {
  readonly sweepMs: number;
  /** Deposit addresses per chain that one replica drives at the same time. */
  readonly depositsAtOnce: number;
  /** Another replica takes over a wallet when its lease was not renewed for this long. */
  readonly leaseTtlMs: number;
  readonly inboxKeptSeconds: number;
  readonly bumpAfterMs?: number;
}

const DEFAULT_TIMING: SignerTiming = {
  sweepMs: 1_000,
  planEveryMs: 5_000,
  energyWaitMs: 600_000,
  depositsAtOnce: 16,
  leaseTtlMs: 5_000,
  resendMs: 5_000,
  resendMaxMs: 30_000,
  cancelGapAfterMs: 15_000,
  balancesEveryMs: 10_000,
  idleCountEveryMs: 15_000,
  countEveryMs: 1_000,
  aheadHaltAfterMs: 30_000,
  poolBelievedMs: 600_000,
  inboxKeptSeconds: 86_400,
};

export interface SignerApp {
  /** Checks of /readyz: each wallet and the database. The broker's state is informational. Empty before `start`. */
  readonly checks: Checks;
  start(): void;
  /** Stops consumers and drivers first; returns within 6 s. The next process sends what is stored and unsent. */
  stop(): Promise<void>;
}

const SCHEMA = 'signer';
const HOUSEKEEPING_MS = 600_000;

/** Closes no connection of `deps`. */
export function createApp(deps: SignerDeps): SignerApp {
  let work: Work | undefined;
  return {
    get checks() {
      return work?.checks ?? {};
    },
    start() {
      work ??= startWork(deps);
    },
    async stop() {
      if (work === undefined) return;
      await stopWithin(STOP_LIMITS_MS.intake, work.intake, deps.logger);
      await stopWithin(STOP_LIMITS_MS.tail, work.tail, deps.logger);
    },
  };
}

type Stops = Readonly<Record<string, () => Promise<unknown>>>;

interface Work {
  readonly checks: Checks;
  readonly intake: Stops;
  readonly tail: Stops;
}

function startWork(deps: SignerDeps): Work {
  const { db, broker, logger, metrics, clock } = deps;
  const observe = createObserve({ logger, metrics });
  const timing = { ...DEFAULT_TIMING, ...deps.timing };
  observeQueues({ broker, service: 'payout-signer', metrics });
  const publisher = createPublisher(broker);
  const relay = startRelay({ store: createOutboxStore(db, SCHEMA), publisher, logger, metrics });
  const shared: Shared = { deps, timing, observe, relay, chains: openDrivenChains(deps) };
  const drivers = startDrivers(shared);
  const deposits = startDeposits(shared);
  const onMovement = () => {
    for (const driver of [...drivers, ...deposits]) driver.wake();
  };
  const planners = startPlanners({ ...deps, timing, observe, onMovement });
  const marking = startMarking(shared);
  const chains = deps.networks.map(({ network }) => network.chain);
  observeWaiting(metrics, db, chains);
  const figures = startWatchingSweeps({ ...deps, chains });
  const families = [...deps.networks, ...(deps.unpayable ?? [])].map(({ network }) => network.family);
  const check = startCheckingDeposits({
    db,
    logger,
    metrics,
    keys: deps.keys,
    families: [...new Set(families)],
  });
  const consumers = startWakingConsumers(deps, [...drivers, ...deposits]);
  const presence = announcePresence({
    db,
    schema: SCHEMA,
    instance: deps.instanceId,
    onError: (error) => observe.presenceFailed(error),
  });
  const housekeeping = startHousekeeping(db, timing, observe);
  const stopAll = (some: readonly { stop(): Promise<void> }[]) => () =>
    Promise.all(some.map((one) => one.stop()));
  return {
    checks: {
      ...checkDrivers(drivers, clock),
      async database() {
        await checkDatabase(db);
        return { ok: true };
      },
      // Without a broker the drivers keep polling, and events wait in the database.
      broker: () => Promise.resolve({ ok: true, detail: broker.state }),
    },
    intake: {
      consumers: stopAll(consumers),
      drivers: stopAll([...drivers, ...deposits]),
      planners: stopAll(planners),
      marking: stopAll(marking),
      housekeeping: () => housekeeping.stop(),
      figures: () => figures.stop(),
      check: () => check.stop(),
    },
    tail: { relay: () => relay.stop(), presence: () => presence.stop() },
  };
}

interface Shared {
  readonly deps: SignerDeps;
  readonly timing: SignerTiming;
  readonly observe: Observe;
  readonly relay: Relay;
  readonly chains: DrivenChains;
}

function startDrivers(shared: Shared): readonly Driver[] {
  const { networks, wallets } = shared.deps;
  return networks.flatMap((paying) =>
    wallets
      .filter((wallet) => paying.codec.parse(wallet) === wallet)
      .map((wallet) => startDriverOf(shared, paying, wallet)),
  );
}

/** Drives deposit addresses like hot wallets, but only while a sweep is due, without send marks and balance polls. */
function startDeposits(shared: Shared): readonly DepositDrivers[] {
  const { deps, timing, observe } = shared;
  const quiet: Shared = {
    ...shared,
    timing: { ...timing, balancesEveryMs: 'NEVER' },
    observe: observeDeposits(observe),
  };
  return deps.networks.map((paying) => {
    const { chain, family } = paying.network;
    return startDepositDrivers({
      chain,
      findMoving: (limit) => findDueDeposits(deps.db, chain, limit),
      startDriver: ({ address, index }) => {
        // The database names the derivation index. The signer derives the address itself and compares.
        const isOurs = deps.keys.admitDeposit(family, index, address);
        observe.depositUnknown(chain, address, isOurs);
        return isOurs ? startDriverOf(quiet, paying, address) : undefined;
      },
      max: timing.depositsAtOnce,
      everyMs: timing.sweepMs,
      onError: (error, failuresInRow) => observe.depositsFailed(chain, error, failuresInRow),
    });
  });
}

function startDriverOf(
  { deps, timing, observe, relay, chains }: Shared,
  paying: PayingNetwork,
  wallet: Address,
): Driver {
  const { db, clock, newId, logger, instanceId, wallets, keys, policy } = deps;
  const { network, codec } = paying;
  const chain = chains.get(network.chain);
  const key = { chain: network.chain, wallet };
  const parts: WalletParts = {
    db,
    key,
    observe,
    clock,
    newId,
    isHotWallet: wallets.includes(wallet),
    rules: {
      network,
      codec,
      ownWallets: wallets,
      policy,
      isDepositAddress: (address, index) => keys.admitDeposit(network.family, index, address),
    },
    readClocks: createClockReader(db, network, clock),
    monotonicMs: deps.monotonicMs ?? (() => performance.now()),
    stateDirectory: deps.stateDirectory,
    onCommitted: () => relay.wake(),
    leaseKeeper: keepLease({
      db,
      schema: SCHEMA,
      name: `wallet/${network.chain}/${wallet}`,
      holder: instanceId,
      ttlMs: timing.leaseTtlMs,
      logger,
    }),
    leaseIntervalMs: timing.leaseTtlMs / 3,
    sweepMs: timing.sweepMs,
    fail: deps.fail,
    ...(chain === undefined ? {} : { chain }),
    markHalted: (lease, obstacle) => holdForChain(db, key, lease, obstacle, { newId, clock }),
  };
  return paying.kind === 'EXPIRING'
    ? openExpiringDriver(parts, paying, timing)
    : openNonceDriver(parts, paying, timing);
}

function startMarking({ deps, timing: { leaseTtlMs }, observe, relay }: Shared): readonly Loop[] {
  const { unpayable = [] } = deps;
  return unpayable.flatMap(({ network: { chain }, codec }) => {
    observe.notConfigured(chain);
    return deps.wallets
      .filter((wallet) => codec.parse(wallet) === wallet)
      .map((wallet) =>
        startMarkingUnpayable({
          ...deps,
          observe,
          key: { chain, wallet },
          leaseTtlMs,
          onCommitted: () => relay.wake(),
        }),
      );
  });
}

function startHousekeeping(db: Db, { inboxKeptSeconds }: SignerTiming, observe: Observe): Loop {
  return startLoop({
    name: 'housekeeping',
    intervalMs: HOUSEKEEPING_MS,
    run: async () => {
      const rolled = await rollInbox(db, SCHEMA, inboxKeptSeconds);
      observe.inboxRolled(rolled);
      return rolled.deleted === ROLLED_ROWS_MAX ? 'again' : undefined;
    },
    onError: (error, failuresInRow) => observe.housekeepingFailed(error, failuresInRow),
  });
}
