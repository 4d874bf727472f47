import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import { ROLLED_ROWS_MAX, rollInbox } from '@opentill/db/housekeeping';
import { keepLease, type Lease } from '@opentill/db/lease';
import { createOutboxStore } from '@opentill/db/outbox';
import { announcePresence } from '@opentill/db/presence';
import { startConsumer, type Consumer } from '@opentill/messaging/consumer';
import { chainStatusText } from '@opentill/domain/chain-status';
import { createPublisher } from '@opentill/messaging/publisher';
import { startRelay, type Relay } from '@opentill/messaging/relay';
import type { CheckResult, Checks } from '@opentill/runtime/health';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import { STOP_LIMITS_MS, stopWithin } from '@opentill/runtime/stop-within';
import { startCheckingDeposits } from './wallet/check-deposits.ts';
import { startDepositDrivers, type DepositDrivers } from './wallet/drive-deposits.ts';
import { startDriver, startExpiringDriver, type Driver } from './wallet/drive-wallet.ts';
import { openDrivenChains, type DrivenChains } from './wallet/driven-chain.ts';
import { NO_SEND_MARK, openSendMark } from './expiring/send-mark.ts';
import { createAttemptStore } from './expiring/store/create-store.ts';
import { wakeDrivers, type WakingEvent } from './handlers/wake-drivers.ts';
import { startMarkingUnpayable } from './wallet/mark-unpayable.ts';
import { NO_NONCE_MARK, openNonceMark } from './nonce/nonce-mark.ts';
import { observeDeposits } from './observe/observe-deposits.ts';
import { createObserve, type Observe } from './observe/observe.ts';
import { createPayoutStore } from './nonce/store/create-store.ts';
import type { PayingNetwork, SignerDeps, SignerTiming } from './signer-deps.ts';
import { startPlanners } from './sweeps/start-planners.ts';
import { findMovingDeposits } from './store/find-moving.ts';
import { holdForChain, type ChainObstacle } from './store/mark-halted.ts';
import { createClockReader } from './wallet/watch-clocks.ts';
import { watchSentNonces, watchSentTimes } from './nonce/watch-sent.ts';
import { startWatchingSweeps } from './sweeps/watch-sweeps.ts';

export const DEFAULT_TIMING: SignerTiming = {
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

/** The service without its process. */
export interface SignerApp {
  /** What /readyz asks: each wallet, the database, and the broker for show. */
  readonly checks: Checks;
  /** Consumers and drivers first; within 6 s, whatever hangs. What is stored and not sent is sent by the next one. */
  stop(): Promise<void>;
}

const SCHEMA = 'signer';
const SERVICE = 'payout-signer';
const PREFETCH = 20;
const DRAIN_TIMEOUT_MS = 4_000;
const HOUSEKEEPING_MS = 600_000;
/** Pools forget after a minute what a transaction has but one or two of to live. */
const EXPIRING_RESEND_MAX_MS = 10_000;
/** A leader whose last pass was longer ago is not well. */
const PASS_STALE_MS = 60_000;

/** Drives every wallet of every network, relays the events and announces this instance. Closes none of what it was given. */
export function startSigner(deps: SignerDeps): SignerApp {
  const { db, broker, logger, metrics } = deps;
  const observe = createObserve({ logger, metrics });
  const timing = { ...DEFAULT_TIMING, ...deps.timing };
  const publisher = createPublisher(broker);
  const relay = startRelay({ store: createOutboxStore(db, SCHEMA), publisher, logger, metrics });
  const chains = openDrivenChains(deps);
  const drivers = startDrivers(deps, timing, observe, relay, chains);
  const deposits = startDeposits(deps, timing, observe, relay, chains);
  const wakeAll = () => {
    for (const driver of [...drivers, ...deposits]) driver.wake();
  };
  const planners = startPlanners(deps, timing, observe, wakeAll);
  const marking = startMarking(deps, timing, observe);
  const figures = startWatchingSweeps({ ...deps, chains: deps.networks.map(({ network }) => network.chain) });
  const check = startCheckingDeposits({
    db,
    logger,
    metrics,
    keys: deps.keys,
    families: [
      ...new Set([...deps.networks, ...(deps.unpayable ?? [])].map(({ network }) => network.family)),
    ],
  });
  const consumers = startConsumers(deps, drivers, deposits);
  const presence = announcePresence({
    db,
    schema: SCHEMA,
    instance: deps.instanceId,
    onError: (error) => observe.presenceFailed(error),
  });
  const housekeeping = startLoop({
    name: 'housekeeping',
    intervalMs: HOUSEKEEPING_MS,
    run: async () => {
      const rolled = await rollInbox(db, SCHEMA, timing.inboxKeptSeconds);
      observe.inboxRolled(rolled);
      return rolled.deleted === ROLLED_ROWS_MAX ? 'again' : undefined;
    },
    onError: (error, failuresInRow) => observe.housekeepingFailed(error, failuresInRow),
  });
  return {
    checks: checksOf(deps, drivers),
    async stop() {
      await stopWithin(
        STOP_LIMITS_MS.intake,
        {
          consumers: () => Promise.all(consumers.map((consumer) => consumer.stop())),
          drivers: () => Promise.all([...drivers, ...deposits].map((driver) => driver.stop())),
          planners: () => Promise.all(planners.map((planner) => planner.stop())),
          marking: () => Promise.all(marking.map((loop) => loop.stop())),
          housekeeping: () => housekeeping.stop(),
          figures: () => figures.stop(),
          check: () => check.stop(),
        },
        logger,
      );
      await stopWithin(
        STOP_LIMITS_MS.tail,
        { relay: () => relay.stop(), presence: () => presence.stop() },
        logger,
      );
    },
  };
}

function startDrivers(
  deps: SignerDeps,
  timing: SignerTiming,
  observe: Observe,
  relay: Relay,
  chains: DrivenChains,
): readonly Driver[] {
  return deps.networks.flatMap((paying) =>
    deps.wallets
      .filter((wallet) => paying.codec.parse(wallet) === wallet)
      .map((wallet) => startDriverOf(deps, timing, observe, relay, paying, wallet, chains)),
  );
}

/** Deposit addresses are driven as hot wallets are, but each for the time of a sweep alone, and beside no file. */
function startDeposits(
  deps: SignerDeps,
  timing: SignerTiming,
  observe: Observe,
  relay: Relay,
  chains: DrivenChains,
): readonly DepositDrivers[] {
  const quiet = observeDeposits(observe);
  return deps.networks.map((paying) =>
    startDepositDrivers({
      chain: paying.network.chain,
      findMoving: (limit) => findMovingDeposits(deps.db, paying.network.chain, limit),
      startDriver: ({ address, index }) => {
        // The database says where it is derived; this process says whether that is so.
        const isOurs = deps.keys.admitDeposit(paying.network.family, index, address);
        observe.depositUnknown(paying.network.chain, address, isOurs);
        return isOurs
          ? startDriverOf(
              deps,
              { ...timing, balancesEveryMs: 'NEVER' },
              quiet,
              relay,
              paying,
              address,
              chains,
            )
          : undefined;
      },
      max: timing.depositsAtOnce,
      everyMs: timing.sweepMs,
      onError: (error, failuresInRow) => observe.depositsFailed(paying.network.chain, error, failuresInRow),
    }),
  );
}

function startDriverOf(
  { db, clock, newId, logger, instanceId, wallets, keys, policy, stateDirectory, fail }: SignerDeps,
  timing: SignerTiming,
  observe: Observe,
  relay: Relay,
  paying: PayingNetwork,
  wallet: Address,
  chains: DrivenChains,
): Driver {
  const { network, codec } = paying;
  const chain = chains.get(network.chain);
  const key = { chain: network.chain, wallet };
  const isHotWallet = wallets.includes(wallet);
  const rules = {
    network,
    codec,
    ownWallets: wallets,
    policy,
    isDepositAddress: (address: Address, index: number) => keys.admitDeposit(network.family, index, address),
  };
  const neutral = {
    key,
    rules,
    readClocks: createClockReader(db, network.chain, clock),
    monotonicMs: () => performance.now(),
    observe,
    clock,
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
    fail,
    ...(chain === undefined ? {} : { chain }),
    markHalted: (lease: Lease, obstacle: ChainObstacle) =>
      holdForChain(db, key, lease, obstacle, { newId, clock }),
  };
  if (paying.kind === 'EXPIRING') {
    const isSponsoring = paying.sender.isSponsoring === true;
    const store = createAttemptStore(db, key, { newId, clock, isSponsoring });
    const mark = isHotWallet ? openSendMark(stateDirectory, key) : NO_SEND_MARK;
    return startExpiringDriver({
      ...neutral,
      terms: paying.terms,
      sender: paying.sender,
      store,
      mark,
      ...(isHotWallet && { watchSent: watchSentTimes(db, { key, mark, store, observe }) }),
      timing: { ...timing, resendMaxMs: Math.min(timing.resendMaxMs, EXPIRING_RESEND_MAX_MS) },
    });
  }
  const store = createPayoutStore(db, key, { newId, clock, isDeposit: !isHotWallet });
  const mark = isHotWallet ? openNonceMark(stateDirectory, key) : NO_NONCE_MARK;
  return startDriver({
    ...neutral,
    terms: paying.terms,
    sender: paying.sender,
    reader: paying.reader,
    store,
    mark,
    ...(isHotWallet && { watchSent: watchSentNonces(db, { key, mark, store, observe }) }),
    timing: { bumpAfterMs: paying.terms.bumpAfterMs, ...timing },
  });
}

function startMarking(deps: SignerDeps, { leaseTtlMs }: SignerTiming, observe: Observe): readonly Loop[] {
  const { unpayable = [] } = deps;
  return unpayable.flatMap(({ network: { chain }, codec }) => {
    observe.notConfigured(chain);
    return deps.wallets
      .filter((wallet) => codec.parse(wallet) === wallet)
      .map((wallet) => startMarkingUnpayable({ ...deps, observe, key: { chain, wallet }, leaseTtlMs }));
  });
}

const WAKING_EVENTS: readonly WakingEvent[] = ['payout.requested', 'payout.decided', 'fate.changed'];

function startConsumers(
  deps: SignerDeps,
  drivers: readonly Driver[],
  deposits: readonly DepositDrivers[],
): readonly Consumer[] {
  const { broker, logger, metrics } = deps;
  return WAKING_EVENTS.map((type) =>
    startConsumer({
      broker,
      service: SERVICE,
      type,
      prefetch: PREFETCH,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
      logger,
      metrics,
      handle: (envelope) => wakeDrivers([...drivers, ...deposits], envelope),
    }),
  );
}

function checksOf({ db, broker, clock }: SignerDeps, drivers: readonly Driver[]): Checks {
  const startedAt = clock.now().getTime();
  const checkDriver = (driver: Driver): CheckResult => {
    if (!driver.leads()) return { ok: true, detail: 'standby' };
    const stop = driver.stoppedBy();
    if (stop !== undefined) return { ok: false, detail: chainStatusText(stop) };
    const silentMs = clock.now().getTime() - (driver.passedAt() ?? startedAt);
    return silentMs < PASS_STALE_MS
      ? { ok: true, detail: 'leads' }
      : { ok: false, detail: `no pass for ${Math.round(silentMs / 1_000)} s` };
  };
  const wallets = drivers.map(
    (driver) => [driver.key.chain, () => Promise.resolve(checkDriver(driver))] as const,
  );
  return {
    ...Object.fromEntries(wallets),
    async database() {
      await sql`select 1 from chain_cursor limit 1`.execute(db);
      return { ok: true };
    },
    // Without a broker the drivers go on by themselves, and events wait in the database.
    broker: () => Promise.resolve({ ok: true, detail: broker.state }),
  };
}
