import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type Database } from '@opentill/db/database';
import { findFreePort } from '@opentill/test-servers/free-port';
import { findFreePorts } from '@opentill/local/find-free-ports';
import type { EvmDevnetChain, ServiceName } from '@opentill/local/gateway-options';
import { startGateway, type Gateway } from '@opentill/local/start-gateway';
import { startTcpProxy, type TcpProxy } from '@opentill/testkit/tcp-proxy';
import { createChainUnderTest, type ChainUnderTest } from '../chain-under-test.ts';
import { startRestartableServers, type RestartableServers } from '../start-restartable-servers.ts';
import { open, register, startShop, type OpenShop } from './start-shops.ts';

/** A gateway with two replicas of most services, and a TCP proxy on every connection. */
export interface ChaosGateway {
  readonly gateway: Gateway;
  readonly servers: RestartableServers;
  /** Two shops, because a fault of one shop's server must not affect the other's callbacks. */
  readonly shops: readonly [OpenShop, OpenShop];
  readonly chains: Readonly<Record<EvmDevnetChain, ChainUnderTest>>;
  readonly database: Database;
  readonly instances: readonly string[];
  /** Proxies by name, such as `webhook-sender-b → database`. */
  readonly links: ReadonlyMap<string, TcpProxy>;
  kill(instance: string): Promise<void>;
  freeze(instance: string, forMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** One api, because merchants know one address. */
const INSTANCES: Readonly<Record<string, ServiceName>> = {
  api: 'api',
  'scanner-evm-a': 'scanner-evm',
  'scanner-evm-b': 'scanner-evm',
  'confirmation-tracker-a': 'confirmation-tracker',
  'confirmation-tracker-b': 'confirmation-tracker',
  'webhook-sender-a': 'webhook-sender',
  'webhook-sender-b': 'webhook-sender',
  'payout-signer-a': 'payout-signer',
  'payout-signer-b': 'payout-signer',
};

/** Shorter than the defaults, so that a run does not wait 30 s after a third failed attempt. */
const RETRY_SCHEDULE_SECONDS = '0.5,1,2,3,4,5,5,5,5,5,5,5';
const CALLBACK_RESTS_SECONDS = '0.5,1,2,3';

/** Starts in a temporary directory on free ports. `stop()` removes it, unless `keepFiles` keeps it for its logs. */
export async function startChaosGateway(keepFiles = false): Promise<ChaosGateway> {
  const stateDir = mkdtempSync(join(tmpdir(), 'opentill-chaos-'));
  chmodSync(stateDir, 0o711); // lets the servers' user reach its subdirectories
  const undo: (() => Promise<void> | void)[] = [
    () => {
      if (!keepFiles) rmSync(stateDir, { recursive: true, force: true });
    },
  ];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    return await start(stateDir, undo, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(
  stateDir: string,
  undo: (() => Promise<void> | void)[],
  stop: () => Promise<void>,
): Promise<ChaosGateway> {
  const links = new Map<string, TcpProxy>();
  async function link(name: string, url: string): Promise<TcpProxy> {
    const proxy = await startTcpProxy(Number(new URL(url).port));
    links.set(name, proxy);
    return proxy;
  }

  // Steps run in reverse order: processes stop first, then the proxies.
  undo.push(async () => void (await Promise.all([...links.values()].map(async (proxy) => proxy.close()))));
  const servers = await startRestartableServers();
  undo.push(async () => servers.stop());
  const steps: (() => Promise<void>)[] = [];
  undo.push(async () => void (await Promise.all(steps.map(async (step) => step()))));
  const [first, second] = [await startShop('default', steps), await startShop('second', steps)];
  for (const { merchantId, cable } of [first, second])
    links.set(`webhook-sender → receiver of ${merchantId}`, cable);
  const gateway = await startGateway({
    stateDir,
    keep: false,
    given: { databaseUrl: servers.databaseUrl, amqpUrl: servers.amqpUrl },
    durable: false,
    services: [],
    ports: await findFreePorts(),
    merchant: {
      token: first.token,
      webhookSecret: first.webhookSecret,
      callbackUrl: first.callbackUrl,
      version: 'V3',
    },
  });
  undo.push(async () => gateway.stop());
  const environments = await linkInstances(gateway, link);
  const startInstance = async (instance: string): Promise<void> => {
    const service = INSTANCES[instance];
    if (service === undefined) throw new Error(`no instance ${instance}`);
    await gateway.startService(service, { instance, env: environments.get(instance) ?? {} });
  };
  await Promise.all(Object.keys(INSTANCES).map(startInstance));
  const database = openDatabase({ url: servers.databaseUrl, applicationName: 'chaos', poolMax: 4 });
  undo.push(async () => database.close());
  await register(database, gateway.environmentOf('webhook-sender')['SECRETS_KEY'] ?? '', second);
  return {
    gateway,
    servers,
    shops: [open(first, gateway.apiUrl), open(second, gateway.apiUrl)],
    chains: Object.fromEntries(
      gateway.chains.map((running) => [running.network.chain, createChainUnderTest(running)]),
    ) as Record<EvmDevnetChain, ChainUnderTest>,
    database,
    instances: Object.keys(INSTANCES),
    links,
    async kill(instance) {
      await gateway.stopService(instance, 'SIGKILL');
      await startInstance(instance);
    },
    async freeze(instance, forMs) {
      const group = gateway.services.get(instance);
      group?.signal('SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, forMs));
      group?.signal('SIGCONT');
    },
    stop,
  };
}

type MakeLink = (name: string, url: string) => Promise<TcpProxy>;

/** Environment by instance: its health port and the URLs of its own proxies. */
async function linkInstances(
  gateway: Gateway,
  link: MakeLink,
): Promise<ReadonlyMap<string, Record<string, string>>> {
  const networksFiles = new Map<ServiceName, string>();
  for (const service of ['scanner-evm', 'payout-signer'] as const)
    networksFiles.set(service, await linkChains(gateway, service, link));
  const environments = new Map<string, Record<string, string>>();
  for (const [instance, service] of Object.entries(INSTANCES)) {
    const networksFile = networksFiles.get(service);
    const { DATABASE_URL = '', AMQP_URL = '' } = gateway.environmentOf(service);
    environments.set(instance, {
      DATABASE_URL: (await link(`${instance} → database`, DATABASE_URL)).through(DATABASE_URL),
      AMQP_URL: (await link(`${instance} → broker`, AMQP_URL)).through(AMQP_URL),
      HEALTH_PORT: `${await findFreePort()}`,
      ...(networksFile === undefined ? {} : { NETWORKS_FILE: networksFile }),
      ...(service === 'webhook-sender' ? { RETRY_SCHEDULE_SECONDS, CALLBACK_RESTS_SECONDS } : {}),
    });
  }
  return environments;
}

/** Writes a copy of the networks file with the nodes behind proxies, WebSocket included. Returns its path. */
async function linkChains(gateway: Gateway, service: ServiceName, link: MakeLink): Promise<string> {
  let text = readFileSync(gateway.directory.networksFile, 'utf8');
  for (const { network, node } of gateway.chains) {
    const proxy = await link(`${service} → ${network.chain}`, node.rpcUrl);
    text = text.replaceAll(`127.0.0.1:${node.port}`, `127.0.0.1:${proxy.port}`);
  }
  const file = join(gateway.directory.root, `networks-by-cable-of-${service}.json`);
  writeFileSync(file, text, { mode: 0o644 });
  return file;
}
