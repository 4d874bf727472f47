import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { ProcessGroup } from '@opentill/test-servers/process-group';
import { requireFreePorts } from '@opentill/test-servers/port-owner';
import type { FoundServer } from '@opentill/test-servers/servers';
import { waitUntil } from '@opentill/test-servers/poll-until';
import { roleUrl } from '@opentill/db/roles';
import type { RoleName } from '@opentill/db/service-schema';
import { GatewayError } from '@opentill/domain/gateway-error';
import { settleAll, rejectOnMemberEnd } from './settle-all.ts';
import {
  SERVICE_NAMES,
  type GatewayOptions,
  type GatewayPorts,
  type ServiceName,
} from './gateway-options.ts';
import { startInfrastructure, type Infrastructure } from './start-infrastructure.ts';
import { createMembers, type Members } from './gateway-parts.ts';
import type { WalletFiles } from './prepare-keys.ts';
import type { PolicyFiles } from './prepare-policy.ts';
import { operatorEnvironment, SERVICE_ENVIRONMENTS, type Environment } from './service-environments.ts';
import type { RunningEvmChain, RunningSuiChain, RunningTronChain } from './start-chains.ts';
import { isReady, startService } from './start-service.ts';
import { prepareStateDirectory, type StateDirectory } from './state-directory.ts';
import { timeStep } from './time-step.ts';
import { allNetworks, readNetworks, servicesFor, type LocalNetworks } from './write-networks.ts';

export type StartGatewayErrorCode = 'GATEWAY_NOT_READY';

export interface Gateway {
  readonly apiUrl: string;
  readonly shopUrl: string;
  readonly opsUrl: string;
  readonly directory: StateDirectory;
  readonly database: FoundServer;
  readonly broker: FoundServer;
  readonly chains: readonly RunningEvmChain[];
  readonly tron: RunningTronChain | undefined;
  readonly sui: RunningSuiChain | undefined;
  readonly networks: readonly NetworkConfig[];
  readonly wallet: WalletFiles;
  readonly policy: PolicyFiles;
  readonly services: ReadonlyMap<string, ProcessGroup>;
  environmentOf(service: ServiceName): Environment;
  readonly operatorEnvironment: Environment;
  roleUrl(role: RoleName): string;
  /** Restarts a service, or starts another replica with its own name, health port and environment. */
  startService(
    service: ServiceName,
    changes?: { readonly instance?: string; readonly env?: Environment },
  ): Promise<ProcessGroup>;
  stopService(instance: string, signal?: NodeJS.Signals): Promise<void>;
  /** Never resolves. Rejects with MEMBER_DIED when a part ends unexpectedly. */
  readonly died: Promise<never>;
  stop(): Promise<void>;
}

const READY_DEADLINE_MS = 300_000;

/** Resolves when the gateway is ready. On failure or abort, stops everything and throws the cause. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const networks = await readNetworks(options);
  const services = servicesFor(networks, options.services);
  await requireFreePorts(neededPorts(options.ports, networks));
  const directory = prepareStateDirectory(options.stateDir, options.keep);
  const members = createMembers();
  try {
    const foundations = await startInfrastructure(options, networks, directory, members);
    const gateway = createGateway(options, directory, members, foundations);
    options.say?.(`services: ${services.join(', ')}`);
    await settleAll(
      services.map(async (service) => timeStep(service, options.say, gateway.startService(service))),
    );
    options.signal?.throwIfAborted();
    if (services.includes('api')) await waitForGateway(gateway, members, options.signal);
    return gateway;
  } catch (error) {
    const cause = members.firstDeath() ?? error; // a dead database explains later failures
    await members.stop();
    throw cause;
  }
}

function createGateway(
  options: GatewayOptions,
  directory: StateDirectory,
  members: Members,
  { source, servers, chains, networks, wallet, policy }: Infrastructure,
): Gateway {
  const services = new Map<string, ProcessGroup>();
  const environmentOf = (service: ServiceName): Environment => ({
    ...SERVICE_ENVIRONMENTS[service](source),
    ...options.extraEnvironment?.[service],
  });
  return {
    apiUrl: `http://localhost:${options.ports.api}`,
    shopUrl: `http://localhost:${options.ports.shop}`,
    opsUrl: `http://127.0.0.1:${options.ports.ops}`,
    directory,
    database: servers.database,
    broker: servers.broker,
    chains: chains.evm,
    tron: chains.tron,
    sui: chains.sui,
    networks: allNetworks(networks),
    wallet,
    policy,
    services,
    environmentOf,
    operatorEnvironment: operatorEnvironment(source),
    roleUrl: (role) => roleUrl(source.adminUrl, role, source.secrets.rolePasswords[role]),
    startService: async (service, changes = {}) => {
      const env = { ...environmentOf(service), ...changes.env };
      const instance = changes.instance ?? service;
      const group = await startService({
        service,
        instance,
        env,
        logs: directory.logs,
        signal: options.signal,
      });
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

async function waitForGateway(
  gateway: Gateway,
  members: Members,
  signal: AbortSignal | undefined,
): Promise<void> {
  const url = `${gateway.apiUrl}/readyz`;
  const ready = await rejectOnMemberEnd(
    members,
    waitUntil(async () => signal?.aborted === true || isReady(url).catch(() => false), {
      deadlineMs: READY_DEADLINE_MS,
      pollIntervalMs: 100,
    }),
  );
  signal?.throwIfAborted();
  if (ready) return;
  throw new GatewayError<StartGatewayErrorCode>(
    'GATEWAY_NOT_READY',
    `All services run, but ${url} does not report ready within ${READY_DEADLINE_MS / 1000} s.`,
    { retryable: true, context: { logs: gateway.directory.logs } },
  );
}

function neededPorts(
  ports: GatewayPorts,
  { evm, tron, sui }: LocalNetworks,
): { port: number; purpose: string }[] {
  return [
    { port: ports.api, purpose: 'the API' },
    { port: ports.shop, purpose: 'the demo shop' },
    { port: ports.ops, purpose: "the operators' API" },
    ...SERVICE_NAMES.map((service) => ({ port: ports.health[service], purpose: `the health of ${service}` })),
    ...[...evm, tron, sui].flatMap((network) =>
      network === undefined
        ? []
        : [{ port: ports.chains[network.chain], purpose: `the devnet ${network.chain}` }],
    ),
  ];
}
