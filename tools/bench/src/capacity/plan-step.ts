import { REPLICATED, type OrderCosts, type Replicated } from './costs.ts';

/** The rate that the model starts from, in payments/s. */
export const BASE_RATE = 400;
export const FACTORS = [1, 10, 100, 1_000] as const;

/** Planned load of a processor core: the rest is for peaks, restarts and vacuum. */
export const UTILISATION = 0.6;
/** Assumptions about one primary of Postgres, a large machine. */
export const PRIMARY = {
  cores: 64,
  walBytesPerSecond: 1_000_000_000,
  transactionsPerSecond: 40_000,
} as const;
/** Assumption about one cluster of RabbitMQ: confirmed messages/s through quorum queues of three members. */
const BROKER_MESSAGES_PER_SECOND = 30_000;
/** libs/messaging/src/relay.ts: rows per transaction. Assumption: its database round trips and the confirms take this long. */
const RELAY = { batch: 200, roundMs: 10 } as const;
const EVENTS_PER_RELAY = (RELAY.batch * 1_000) / RELAY.roundMs;
/** Per order. The other services share events among the orders of a block. */
const EVENTS_OF_API = 1;
/** Connections per replica: DATABASE_POOL_MAX of each service. */
const POOL: Readonly<Record<Replicated, number>> = {
  api: 10,
  'confirmation-tracker': 16,
  'webhook-sender': 10,
};
const SCANNER_POOL = 10;
/**
 * Thorough sweep of the webhook-sender (docs/architecture/recovery.md): once a minute it reads the notifications of the
 * last ten minutes again, in 1.3 s at 300 notifications/s.
 */
const SWEEP = { secondsPerMinute: 1.3, notificationsPerSecond: 300, notificationsPerOrder: 3 } as const;
const SECONDS_PER_DAY = 86_400;

export interface Step {
  readonly factor: number;
  readonly rate: number;
  /** Installations, each with a database, a broker and its own merchants. */
  readonly installations: number;
  /** In each installation. */
  readonly ratePerInstallation: number;
  readonly replicas: Readonly<Record<Replicated, number>>;
  /** Scanner processes, if the payments are spread evenly over as many chains. */
  readonly chains: number;
  readonly postgresCores: number;
  readonly brokerCores: number;
  readonly connections: number;
  readonly transactionsPerSecond: number;
  readonly walMegabytesPerSecond: number;
  readonly permanentGigabytesPerDay: number;
  readonly expiringGigabytesPerDay: number;
  readonly messagesPerSecond: number;
  /** Relays that the api's outbox would need. More than one exists only after a change of the code. */
  readonly relaysNeeded: number;
  readonly nodeCallsPerSecond: number;
}

/** Rate at which one installation reaches each limit, in payments/s. */
export interface Limits {
  readonly primaryCores: number;
  readonly primaryWal: number;
  readonly primaryTransactions: number;
  readonly broker: number;
  readonly oneRelay: number;
  /** One chain: its scanner is one process. */
  readonly oneChain: number;
  /** The webhook-sender's thorough sweep then takes a whole minute. */
  readonly sweep: number;
}

export function limitsOf(costs: OrderCosts): Limits {
  const perCore = (ms: number) => (1_000 * UTILISATION) / ms;
  return {
    primaryCores: PRIMARY.cores * perCore(costs.processorMs.postgres),
    primaryWal: PRIMARY.walBytesPerSecond / costs.database.walBytes,
    primaryTransactions: PRIMARY.transactionsPerSecond / costs.database.transactions,
    broker: BROKER_MESSAGES_PER_SECOND / costs.broker.published,
    oneRelay: EVENTS_PER_RELAY / EVENTS_OF_API,
    oneChain: perCore(costs.processorMs['scanner-evm']),
    sweep: (SWEEP.notificationsPerSecond * (60 / SWEEP.secondsPerMinute)) / SWEEP.notificationsPerOrder,
  };
}

export function planStep(costs: OrderCosts, factor: number): Step {
  const rate = BASE_RATE * factor;
  const limits = limitsOf(costs);
  const installations = Math.ceil(
    rate / Math.min(limits.primaryCores, limits.primaryWal, limits.primaryTransactions, limits.broker),
  );
  const each = rate / installations;
  const { processorMs, database, broker, nodeCalls } = costs;
  const coresFor = (ms: number) => (each * ms) / 1_000 / UTILISATION;
  const replicas = Object.fromEntries(
    REPLICATED.map((service) => [service, Math.max(2, Math.ceil(coresFor(processorMs[service])))]),
  ) as Record<Replicated, number>;
  const chains = Math.ceil(coresFor(processorMs['scanner-evm']));
  const perDay = (bytes: number) => (rate * bytes * SECONDS_PER_DAY) / 1e9;
  return {
    factor,
    rate,
    installations,
    ratePerInstallation: each,
    replicas,
    chains,
    postgresCores: coresFor(processorMs.postgres),
    brokerCores: coresFor(processorMs.rabbitmq),
    connections:
      REPLICATED.reduce((sum, service) => sum + replicas[service] * POOL[service], 0) + chains * SCANNER_POOL,
    transactionsPerSecond: each * database.transactions,
    walMegabytesPerSecond: (each * database.walBytes) / 1e6,
    permanentGigabytesPerDay: perDay(database.permanentBytes),
    expiringGigabytesPerDay: perDay(database.expiringBytes),
    messagesPerSecond: each * broker.published,
    relaysNeeded: Math.ceil((each * EVENTS_OF_API) / EVENTS_PER_RELAY),
    nodeCallsPerSecond: nodeCalls.idlePerSecond * chains + each * nodeCalls.perPayment,
  };
}
