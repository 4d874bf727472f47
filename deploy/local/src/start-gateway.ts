import { writeFileSync } from 'node:fs';
import type { ProcessGroup } from '@opentill/devnet/process-group';
import { requireFreePorts } from '@opentill/devnet/port-owner';
import { findOrBringServers, type FoundServer, type Servers } from '@opentill/devnet/servers';
import { waitUntil } from '@opentill/devnet/wait-until';
import { roleUrl } from '@opentill/db/roles';
import type { ServiceSchema } from '@opentill/db/service-schema';
import { GatewayError } from '@opentill/domain/gateway-error';
import { fundHotWallets } from './fund-hot-wallets.ts';
import {
  SERVICE_NAMES,
  type GatewayOptions,
  type GatewayPorts,
  type ServiceName,
} from './gateway-options.ts';
import { createMembers, type Members } from './members.ts';
import { prepareKeys, type WalletFiles } from './prepare-keys.ts';
import { resetGivenDatabase } from './reset-database.ts';
import { runOpentill } from './run-command.ts';
import {
  operatorEnvironment,
  SERVICE_ENVIRONMENTS,
  setupEnvironment,
  type Environment,
  type EnvironmentSource,
} from './service-environments.ts';
import { startChains, type RunningChain } from './start-chains.ts';
import { isReady, startService } from './start-service.ts';
import {
  prepareStateDirectory,
  readOrMakeSecrets,
  type LocalSecrets,
  type StateDirectory,
} from './state-directory.ts';
import { writeNetworks, type DevnetNetwork } from './write-networks.ts';

/** - `GATEWAY_NOT_READY`: all services run, but the API does not call the whole ready. */
export type StartGatewayErrorCode = 'GATEWAY_NOT_READY';

/** A running gateway with everything it needs. */
export interface Gateway {
  readonly apiUrl: string;
  readonly shopUrl: string;
  readonly directory: StateDirectory;
  readonly database: FoundServer;
  readonly broker: FoundServer;
  readonly chains: readonly RunningChain[];
  readonly networks: readonly DevnetNetwork[];
  readonly wallet: WalletFiles;
  /** Running services by name; `pid` is the service's own process. */
  readonly services: ReadonlyMap<string, ProcessGroup>;
  /** The environment that a service is started with. */
  environmentOf(service: ServiceName): Environment;
  /** The database as a service's role. */
  roleUrl(schema: ServiceSchema): string;
  /** Starts a service again, or a further replica with its own name, health port and environment. */
  startService(
    service: ServiceName,
    changes?: { readonly instance?: string; readonly env?: Environment },
  ): Promise<ProcessGroup>;
  /** Stops one service on purpose; SIGKILL is a crash. */
  stopService(instance: string, signal?: NodeJS.Signals): Promise<void>;
  /** Never resolves; rejects with MEMBER_DIED when something ends that nobody stopped. */
  readonly died: Promise<never>;
  /** Services, then chains and broker, then the database. Leaves no process. */
  stop(): Promise<void>;
}

const SETUP_DEADLINE_MS = 90_000;
const READY_DEADLINE_MS = 30_000;

/** What is there before the services. */
interface Foundations {
  readonly source: EnvironmentSource;
  readonly servers: Servers;
  readonly chains: readonly RunningChain[];
  readonly networks: readonly DevnetNetwork[];
  readonly wallet: WalletFiles;
}

/**
 * Starts the gateway of the local profile and answers when it is ready. When a step fails, a member dies or the
 * signal aborts, everything that was started is stopped first and the cause is thrown.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  await requireFreePorts(neededPorts(options.ports));
  const directory = prepareStateDirectory(options.stateDir, options.keep);
  const members = createMembers();
  try {
    const foundations = await layFoundations(options, directory, members);
    const gateway = createGateway(options, directory, members, foundations);
    const services = options.services ?? SERVICE_NAMES;
    options.say?.(`services: ${services.join(', ')}`);
    await settleAll(services.map(async (service) => gateway.startService(service)));
    options.signal?.throwIfAborted();
    if (services.includes('api')) await waitForGateway(gateway, members);
    return gateway;
  } catch (error) {
    const cause = members.firstDeath() ?? error; // a dead database explains better than what fails without it
    await members.stop();
    throw cause;
  }
}

async function layFoundations(
  options: GatewayOptions,
  directory: StateDirectory,
  members: Members,
): Promise<Foundations> {
  const { signal } = options;
  const say = options.say ?? (() => undefined);
  const secrets = readOrMakeSecrets(directory);
  const networks = writeNetworks(directory.networksFile, options);
  say(`database, broker, ${networks.map(({ chain }) => chain).join(', ')}`);
  const [servers, chains, wallet] = await settleAll([
    bringServers(options, directory, members),
    bringChains(networks, options, directory, members),
    prepareKeys(directory, secrets, signal),
  ] as const);
  signal?.throwIfAborted();
  const source = environmentSource(options, directory, secrets, servers, wallet);
  say(`setup (database: ${servers.database.origin}, broker: ${servers.broker.origin})`);
  if (servers.database.origin === 'given' && !options.keep) await resetGivenDatabase(servers.database.url);
  await untilDeath(
    members,
    runOpentill({
      args: ['setup'],
      env: setupEnvironment(source),
      logs: directory.logs,
      deadlineMs: SETUP_DEADLINE_MS,
      signal,
    }),
  );
  writeFileSync(directory.operatorFile, JSON.stringify(operatorEnvironment(source)), { mode: 0o600 });
  say('hot wallets');
  await fundHotWallets({
    chains,
    hotWallet: wallet.evmHotWallet,
    file: directory.topUpsFile,
    env: operatorEnvironment(source),
    logs: directory.logs,
    signal,
  });
  return { source, servers, chains, networks, wallet };
}

async function bringServers(
  options: GatewayOptions,
  directory: StateDirectory,
  members: Members,
): Promise<Servers> {
  const servers = await findOrBringServers({
    dir: directory.servers,
    given: options.given,
    keepData: options.keep,
    durable: options.durable ?? true,
    ...(options.say === undefined ? {} : { say: options.say }),
  });
  if (servers.database.own) members.add('database', servers.database.own);
  if (servers.broker.own) members.add('chains and broker', servers.broker.own);
  return servers;
}

async function bringChains(
  networks: readonly DevnetNetwork[],
  options: GatewayOptions,
  directory: StateDirectory,
  members: Members,
): Promise<readonly RunningChain[]> {
  const chains = await startChains(networks, directory, options);
  for (const { network, node } of chains) {
    const stop = async (): Promise<void> => node.stop(options.durable === false ? 'kill' : 'graceful');
    members.add('chains and broker', { ...node, name: `the devnet ${network.chain}`, stop });
  }
  return chains;
}

function environmentSource(
  options: GatewayOptions,
  directory: StateDirectory,
  secrets: LocalSecrets,
  servers: Servers,
  wallet: WalletFiles,
): EnvironmentSource {
  return {
    adminUrl: servers.database.url,
    amqpUrl: servers.broker.url,
    secrets,
    ports: options.ports,
    merchant: options.merchant,
    networksFile: directory.networksFile,
    publicKeysFile: wallet.publicKeysFile,
  };
}

function createGateway(
  options: GatewayOptions,
  directory: StateDirectory,
  members: Members,
  { source, servers, chains, networks, wallet }: Foundations,
): Gateway {
  const services = new Map<string, ProcessGroup>();
  const environmentOf = (service: ServiceName): Environment => ({
    ...SERVICE_ENVIRONMENTS[service](source),
    ...options.extraEnvironment?.[service],
  });
  return {
    apiUrl: `http://localhost:${options.ports.api}`,
    shopUrl: `http://localhost:${options.ports.shop}`,
    directory,
    database: servers.database,
    broker: servers.broker,
    chains,
    networks,
    wallet,
    services,
    environmentOf,
    roleUrl: (schema) => roleUrl(source.adminUrl, schema, source.secrets.rolePasswords[schema]),
    startService: async (service, changes = {}) => {
      const env = { ...environmentOf(service), ...changes.env };
      const instance = changes.instance ?? service;
      const group = await startService({ service, instance, env, logs: directory.logs });
      services.set(instance, group);
      members.add('services', group);
      return group;
    },
    stopService: async (instance, signal) => {
      const group = services.get(instance);
      if (group === undefined) return;
      members.release(group);
      services.delete(instance);
      await group.stop(signal === undefined ? {} : { signal });
    },
    died: members.died,
    stop: members.stop,
  };
}

async function waitForGateway(gateway: Gateway, members: Members): Promise<void> {
  const url = `${gateway.apiUrl}/readyz`;
  const ready = await untilDeath(
    members,
    waitUntil(async () => isReady(url).catch(() => false), {
      deadlineMs: READY_DEADLINE_MS,
      pollIntervalMs: 100,
    }),
  );
  if (ready) return;
  throw new GatewayError<StartGatewayErrorCode>(
    'GATEWAY_NOT_READY',
    `All services run, but ${url} does not say ready within ${READY_DEADLINE_MS / 1000} s.`,
    { retryable: true, context: { logs: gateway.directory.logs } },
  );
}

/** The work's outcome, or the first death among the members if that comes first. */
async function untilDeath<Result>(members: Members, work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined); // a death may have been thrown instead
  return Promise.race([work, members.died]);
}

/** Like Promise.all, but settles only when all have settled: what one of them starts must be known before stopping. */
async function settleAll<const Work extends readonly Promise<unknown>[]>(
  work: Work,
): Promise<{ -readonly [Index in keyof Work]: Awaited<Work[Index]> }> {
  const results = await Promise.allSettled(work);
  const failure = results.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as {
    -readonly [Index in keyof Work]: Awaited<Work[Index]>;
  };
}

function neededPorts(ports: GatewayPorts): { port: number; purpose: string }[] {
  return [
    { port: ports.api, purpose: 'the API' },
    { port: ports.shop, purpose: 'the demo shop' },
    ...SERVICE_NAMES.map((service) => ({ port: ports.health[service], purpose: `the health of ${service}` })),
    ...Object.entries(ports.chains).map(([chain, port]) => ({ port, purpose: `the devnet ${chain}` })),
  ];
}
