import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fundHotWallets } from '@opentill/compose-devnet/fund-hot-wallets';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { networkKindOf } from '@opentill/contracts/network-kind';
import { openDatabase, type Database } from '@opentill/db/database';
import { entryPoint } from '@opentill/local/checkout';
import { LOCAL_CODECS } from '@opentill/local/prepare-keys';
import { waitUntil } from '@opentill/testkit/wait-until';
import { publicKeysFor, readPublicKeys, type WalletPublicKeys } from '@opentill/wallet/public-keys';
import { CHECKOUT } from '../read-markdown.ts';
import { CHART } from './chart.ts';
import type { Cluster } from './cluster.ts';
import { serversOf, type ServerKind, type Servers } from './servers.ts';

const run = promisify(execFile);
const NETWORKS = join(CHECKOUT, 'deploy/networks/local.json');
const FUNDED_WITHIN_MS = 600_000;
/** Port of a chain's node, as in docker-compose.yml. */
const PORT_OF = { EVM: 8545, TRON: 9090, SUI: 9000 } as const;
/** The chain's node that may read metrics, as Prometheus. */
export const MONITORING = 'eth-sepolia';
/** An address without a known key. */
export const COLD_ON_SUI = `0x${'c01d'.repeat(16)}`;

export interface InstalledGateway {
  readonly cluster: Cluster;
  readonly apiUrl: string;
  readonly networks: readonly NetworkConfig[];
  /** Nodes as this machine reaches them, by chain. */
  readonly nodeUrls: ReadonlyMap<string, string>;
  readonly database: Database;
  readonly amqpUrl: string;
  readonly hotWallets: WalletPublicKeys['families'];
  /** Environment of `opentill` on this machine, as an operator. */
  readonly operatorEnvironment: Readonly<Record<string, string>>;
  secret(name: string): string;
  /** `helm upgrade`, or the installation, with one scanner for each entry, and further values. */
  deploy(scanners: readonly Scanner[], further?: FurtherValues): Promise<void>;
  close(): Promise<void>;
}

export interface FurtherValues {
  readonly api?: object;
  readonly database?: object;
}

export interface Scanner {
  readonly name: string;
  readonly family: 'evm' | 'tron' | 'sui';
  readonly chains: readonly string[];
}

export const PER_FAMILY: readonly Scanner[] = [
  { name: 'evm', family: 'evm', chains: ['ETH_SEPOLIA', 'BSC_TEST'] },
  { name: 'tron', family: 'tron', chains: ['TRON_TEST'] },
  { name: 'sui', family: 'sui', chains: ['SUI_TEST'] },
];
export const PER_CHAIN: readonly Scanner[] = [
  { name: 'eth-sepolia', family: 'evm', chains: ['ETH_SEPOLIA'] },
  { name: 'bsc-test', family: 'evm', chains: ['BSC_TEST'] },
  ...PER_FAMILY.slice(1),
];

const serviceOf = (chain: string): string => chain.toLowerCase().replace('_', '-');
const prefix = (): string => process.env['OPENTILL_TEST_IMAGE_PREFIX'] ?? 'opentill';
const tag = (): string => process.env['OPENTILL_TEST_IMAGE_TAG'] ?? '0.1.0';

/**
 * Installs the chart from nothing, with local chains as pods next to it, and funds the hot wallets. `callbackUrl` is an
 * address of this machine, which pods reach.
 */
export async function installGateway(
  cluster: Cluster,
  callbackUrl: string,
  serverKind: ServerKind,
): Promise<InstalledGateway> {
  const servers = serversOf(serverKind);
  const directory = mkdtempSync(join(tmpdir(), 'opentill-kubernetes-'));
  const networks = await readNetworkFile(NETWORKS, {});
  await prepareFiles(directory);
  const secret = (name: string): string => readFileSync(join(directory, 'secrets', name), 'utf8');
  await cluster.apply([...storedFiles(directory), ...networks.flatMap(chainResources)]);
  const endpoints: Record<string, string> = {};
  for (const { chain, family } of networks) {
    endpoints[`${chain}_RPC_URLS`] = `http://${serviceOf(chain)}:${PORT_OF[family]}`;
    if (family === 'EVM') endpoints[`${chain}_WS_URL`] = `ws://${serviceOf(chain)}:${PORT_OF[family]}`;
  }
  const receiver = new URL(callbackUrl).hostname;
  const values = {
    image: { prefix: prefix(), tag: tag(), pullPolicy: 'IfNotPresent' },
    ...servers.values,
    settings: {
      CHECKOUT_BASE_URL: 'http://localhost:3010/checkout',
      CALLBACK_URL: callbackUrl,
      PROFILE: 'local',
      POLICY_FILE: '/var/lib/opentill/keys/policy.sealed.json',
      ALLOW_HTTP_CALLBACKS: 'true',
      ALLOWED_CALLBACK_ADDRESSES: `${receiver}/32`,
      RETRY_SCHEDULE_SECONDS: '0.5,1,2,3,4,5,5,5,5,5,5,5',
      DEPOSIT_ADDRESSES_READY: '2048',
    },
    endpoints: { secret: '', keys: [], values: endpoints },
    api: { replicas: 2, service: { type: 'NodePort', port: 80 } },
    networkPolicy: {
      chains: [{ podSelector: { matchLabels: { 'opentill-devnet': 'node' } } }],
      callbacks: [{ ipBlock: { cidr: `${receiver}/32` } }],
      monitoring: [{ podSelector: { matchLabels: { chain: MONITORING } } }],
    },
  };
  const deploy = async (
    scanners: readonly Scanner[],
    { api, database }: FurtherValues = {},
  ): Promise<void> => {
    const file = join(directory, 'values.json');
    writeFileSync(file, JSON.stringify({ ...values, scanners, database, api: { ...values.api, ...api } }));
    const files = [...servers.files, file].flatMap((name) => ['-f', name]);
    await cluster.helm(['upgrade', '--install', 'opentill', CHART, ...files, '--wait', '--timeout', '15m']);
  };
  await deploy(PER_FAMILY);
  return reach({ cluster, directory, networks, secret, deploy, servers });
}

async function prepareFiles(directory: string): Promise<void> {
  const path = (name: string): string => join(directory, name);
  const env = { ...process.env, SECRETS_DIR: path('secrets'), NETWORKS_FILE: NETWORKS };
  // `prepare` writes .env next to its scripts, so it works on a copy.
  await run('sh', ['-c', `mkdir -p work/deploy && cp -r ${CHECKOUT}/deploy/compose work/deploy/`], {
    cwd: directory,
  });
  await run('sh', [path('work/deploy/compose/prepare'), 'devnet'], { env });
  renameSync(path('secrets/keystore_passphrase'), path('keystore_passphrase'));
  const policy = JSON.parse(readFileSync(join(CHECKOUT, 'deploy/compose/devnet-policy.json'), 'utf8')) as {
    chains: Record<string, object>;
  };
  const terms = { nativePrice: '3', maxTopUp: '0.1', maxNativePerDay: '10', maxCostShare: '0.5' };
  Object.assign(policy.chains['SUI_TEST'] ?? {}, { coldAddress: COLD_ON_SUI, sweep: terms });
  writeFileSync(path('policy.json'), JSON.stringify(policy));
  const keystore = ['--keystore', path('keystore.json'), '--passphrase-file', path('keystore_passphrase')];
  const opentill = async (...args: string[]) =>
    run(process.execPath, [entryPoint('cli'), ...args, ...keystore], { env });
  await opentill('keys', 'init', '--public-keys', path('public-keys.json'));
  await opentill('policy', 'seal', path('policy.json'), '--out', path('policy.sealed.json'));
}

function storedFiles(directory: string): readonly object[] {
  const contents = (files: readonly string[]): Record<string, string> =>
    Object.fromEntries(
      files.map((file) => [file.split('/').at(-1) ?? '', readFileSync(join(directory, file), 'utf8')]),
    );
  const names = readdirSync(join(directory, 'secrets')).map((name) => `secrets/${name}`);
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'opentill' }, stringData: contents(names) },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'opentill-keystore' },
      stringData: contents(['keystore.json', 'policy.sealed.json', 'keystore_passphrase']),
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'opentill-networks' },
      data: { 'networks.json': readFileSync(NETWORKS, 'utf8') },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'opentill-public-keys' },
      stringData: contents(['public-keys.json']),
    },
  ];
}

/** The chain's node of docker-compose.yml as a pod and a Service. */
function chainResources({ chain, family }: NetworkConfig): readonly object[] {
  const name = serviceOf(chain);
  const port = PORT_OF[family];
  const labels = { 'opentill-devnet': 'node', chain: name };
  const environment = {
    CHAIN: chain,
    NETWORKS_FILE: '/etc/opentill/networks.json',
    STATE_DIR: '/var/lib/opentill/chain',
    RPC_PORT: `${port}`,
    HEALTH_HOST: '0.0.0.0',
  };
  const container = {
    name: 'node',
    image: `${prefix()}/devnet:${tag()}`,
    imagePullPolicy: 'IfNotPresent',
    args: ['chain'],
    env: Object.entries(environment).map(([variable, value]) => ({ name: variable, value })),
    // Without a request a pod gets almost no processor time on a busy machine. Four of these and the pods that a rolling
    // update adds must fit on two cores.
    resources: { requests: { cpu: '20m', memory: '128Mi' } },
    // The Service waits for the node's start. A slow answer later does not withdraw it.
    startupProbe: {
      httpGet: { path: '/readyz', port: 3020 },
      periodSeconds: 2,
      timeoutSeconds: 5,
      failureThreshold: 300,
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'networks', mountPath: '/etc/opentill' },
      { name: 'state', mountPath: '/var/lib/opentill/chain' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
  const pod = {
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 1000,
      fsGroup: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [container],
    volumes: [
      { name: 'networks', configMap: { name: 'opentill-networks' } },
      { name: 'state', emptyDir: {} },
      { name: 'tmp', emptyDir: {} },
    ],
  };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: {
        selector: { matchLabels: labels },
        strategy: { type: 'Recreate' },
        template: { metadata: { labels }, spec: pod },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { type: 'NodePort', selector: labels, ports: [{ port, targetPort: port }] },
    },
  ];
}

interface Installation extends Pick<InstalledGateway, 'cluster' | 'networks' | 'secret' | 'deploy'> {
  readonly directory: string;
  readonly servers: Servers;
}

async function reach(installation: Installation): Promise<InstalledGateway> {
  const { cluster, directory, networks, secret, servers } = installation;
  const node = await cluster.nodeAddress();
  const nodeUrls = new Map<string, string>();
  for (const { chain } of networks)
    nodeUrls.set(chain, `http://${node}:${await cluster.nodePortOf(serviceOf(chain))}`);
  const postgres = await cluster.forward(servers.postgres, 5432);
  const rabbitmq = await cluster.forward(servers.rabbitmq, 5672);
  const ops = await cluster.forward('deployment/opentill-ops', 3012);
  const { database: owner, broker } = await servers.logins(cluster, secret);
  const databaseUrl = (user: string, password: string): string =>
    `postgres://${user}:${password}@127.0.0.1:${postgres.port}/opentill`;
  const database = openDatabase({
    url: databaseUrl(owner.user, owner.password),
    applicationName: 'kubernetes test',
    poolMax: 4,
  });
  const opsDatabaseUrl = databaseUrl('opentill_ops', secret('database_password_ops'));
  const keysFile = await readPublicKeys(join(directory, 'public-keys.json'), LOCAL_CODECS);
  const hotWallets = publicKeysFor(keysFile, networkKindOf(networks)).families;
  await fund(installation, nodeUrls, opsDatabaseUrl, hotWallets);
  const operatorEnvironment = {
    OPS_URL: `http://127.0.0.1:${ops.port}`,
    OPS_TOKEN_FILE: join(directory, 'token'),
    OPS_DATABASE_URL: opsDatabaseUrl,
    NETWORKS_FILE: NETWORKS,
  };
  return {
    ...installation,
    apiUrl: `http://${node}:${await cluster.nodePortOf('opentill-api')}`,
    nodeUrls,
    database,
    amqpUrl: `amqp://${broker.user}:${broker.password}@127.0.0.1:${rabbitmq.port}`,
    hotWallets,
    operatorEnvironment,
    async close() {
      await database.close();
      await Promise.all([postgres.close(), rabbitmq.close(), ops.close()]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function fund(
  { networks }: Installation,
  nodeUrls: ReadonlyMap<string, string>,
  databaseUrl: string,
  hotWallets: WalletPublicKeys['families'],
): Promise<void> {
  const db = openDatabase({ url: databaseUrl, applicationName: 'kubernetes test', poolMax: 1 });
  const reachable = networks.map((network) => ({
    ...network,
    rpcUrls: [nodeUrls.get(network.chain) ?? ''],
  })) as readonly NetworkConfig[];
  try {
    await fundHotWallets({
      db: db.kysely,
      networks: reachable,
      hotWalletOf: (family) => hotWallets[family].hotWallets[0],
      deadlineMs: FUNDED_WITHIN_MS,
      onFunded: () => undefined,
    });
    const count = async () =>
      (await db.kysely.selectFrom('chain_cursor').select('chain').execute()).length === networks.length;
    await waitUntil('every chain is read', count);
  } finally {
    await db.close();
  }
}
