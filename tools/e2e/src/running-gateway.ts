import { readdirSync, readFileSync } from 'node:fs';
import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { entryPoint } from '@opentill/local/checkout';
import { LOCAL_PORTS, SERVICE_NAMES, type ServiceName } from '@opentill/local/gateway-options';
import { prepareKeys } from '@opentill/local/prepare-keys';
import { policyFilesIn } from '@opentill/local/prepare-policy';
import type { Gateway } from '@opentill/local/start-gateway';
import { operatorFileOf, readOrMakeSecrets, stateDirectoryAt } from '@opentill/local/state-directory';
import type { ReachableSui } from './sui-under-test.ts';
import type { ReachableTron } from './tron-under-test.ts';

type Environment = Readonly<Record<string, string>>;

/** The parts of a gateway that tests use, whether the test or `npm start` started it. */
export interface RunningGateway extends Pick<
  Gateway,
  'apiUrl' | 'shopUrl' | 'opsUrl' | 'directory' | 'networks' | 'wallet' | 'policy'
> {
  readonly database: { readonly url: string };
  readonly tron: ReachableTron | undefined;
  readonly sui: ReachableSui | undefined;
  readonly services: ReadonlyMap<string, { readonly pid: number }>;
  readonly operatorEnvironment: Environment;
  environmentOf(service: ServiceName): Environment;
}

/** The gateway of a running `npm start` with default ports, read from its state directory and its processes. */
export async function readRunningGateway(stateDir: string): Promise<RunningGateway> {
  const directory = stateDirectoryAt(stateDir);
  const networks = await readNetworkFile(directory.networksFile, {});
  const operatorEnvironment = JSON.parse(readFileSync(operatorFileOf(stateDir), 'utf8')) as Environment;
  const services = new Map(SERVICE_NAMES.map((service) => [service, { pid: pidOf(service) }]));
  return {
    apiUrl: `http://localhost:${LOCAL_PORTS.api}`,
    shopUrl: `http://localhost:${LOCAL_PORTS.shop}`,
    opsUrl: `http://127.0.0.1:${LOCAL_PORTS.ops}`,
    directory,
    networks,
    database: { url: operatorEnvironment['DATABASE_ADMIN_URL'] ?? '' },
    tron: reachable(networks, 'TRON_TEST'),
    sui: reachable(networks, 'SUI_TEST'),
    wallet: await prepareKeys(directory, readOrMakeSecrets(directory), undefined), // reads existing files
    policy: policyFilesIn(directory),
    services,
    operatorEnvironment,
    environmentOf: (service) => environmentOf(services.get(service)?.pid ?? 0),
  };
}

function reachable(networks: readonly NetworkConfig[], chain: string): ReachableTron | undefined {
  const network = networks.find((one) => one.chain === chain);
  const [endpoint] = network === undefined ? [] : rpcEndpointsOf(network);
  return network && endpoint && { network, node: endpoint };
}

function pidOf(service: ServiceName): number {
  const health = `${LOCAL_PORTS.health[service]}`;
  const pid = readdirSync('/proc').find((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      return words.includes(entryPoint(service)) && environmentOf(Number(name))['HEALTH_PORT'] === health;
    } catch {
      return false; // the process ended
    }
  });
  if (pid === undefined) throw new Error(`npm start runs no ${service}`);
  return Number(pid);
}

function environmentOf(pid: number): Environment {
  const pairs = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
}
