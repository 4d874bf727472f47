import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Family } from '@opentill/domain/chains';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { openDatabase, type Database } from '@opentill/db/database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createChainUnderTest, type ChainUnderTest } from './chain-under-test.ts';
import {
  findChainProblems,
  findLedgerProblems,
  findPayoutProblems,
  undeliveredCount,
  type BookedChain,
} from './check-books.ts';
import type { ComposeUnderTest } from './compose-under-test.ts';
import { createMerchantClient, type Answered, type MerchantClient } from './merchant-client.ts';
import { CHECKOUT } from './read-markdown.ts';
import { createSuiUnderTest, type SuiUnderTest } from './sui-under-test.ts';
import { WAIT_MS } from './time-limits.ts';
import { createTronUnderTest, type TronUnderTest } from './tron-under-test.ts';

export interface ShopCallback {
  readonly notifyType: string;
  readonly repeats: number;
}

export interface GatewayInContainers {
  readonly merchant: MerchantClient;
  readonly evm: readonly ChainUnderTest[];
  readonly tron: TronUnderTest;
  readonly sui: SuiUnderTest;
  /** With the rights of the owner. */
  readonly database: () => Database;
  /** Connects to the server that replaced the first one. */
  reopenDatabase(): Promise<void>;
  /** Creates a collection of 10 USDT; retries until it is accepted. Returns its address. */
  order(orderId: string, chain: Pick<ChainUnderTest, 'chain'>): Promise<string>;
  payOut(
    orderId: string,
    chain: Pick<ChainUnderTest, 'chain'>,
    to: { readonly receiveAddress: string; readonly amount: string },
  ): Promise<void>;
  /** Throws with the actual status at the deadline. */
  untilStatus(orderId: string, status: string): Promise<void>;
  /** Oldest first. */
  callbacksOf(orderId: string): Promise<readonly ShopCallback[]>;
  /** Waits until the gateway is at rest, and returns one line per problem. */
  findProblems(): Promise<string[]>;
  close(): Promise<void>;
}

const ASK_AGAIN_MS = 250;
const HEALTHY_WITHIN_MS = 300_000;

export async function untilHealthy(
  docker: Pick<ComposeUnderTest, 'inspect'>,
  services: readonly string[],
): Promise<void> {
  for (const service of services) {
    const isHealthy = async () => (await docker.inspect(service)).State.Health?.Status === 'healthy';
    await waitUntil(`${service} is healthy`, isHealthy, HEALTHY_WITHIN_MS);
  }
}

export async function untilFunded(docker: Pick<ComposeUnderTest, 'inspect'>): Promise<void> {
  const state = async () => (await docker.inspect('devnet-funds')).State;
  const hasEnded = async () => (await state()).Status === 'exited';
  await waitUntil('the hot wallets are funded', hasEnded, HEALTHY_WITHIN_MS);
  const { ExitCode } = await state();
  if (ExitCode !== 0) throw new Error(`devnet-funds ended with ${ExitCode}`);
}

export async function reachGateway(docker: ComposeUnderTest): Promise<GatewayInContainers> {
  const { ports } = docker;
  const merchant = createMerchantClient(
    `http://127.0.0.1:${ports.API_PORT}`,
    docker.secret('merchant_token'),
  );
  const { evm, tron, sui } = reachChains(ports);
  let database = await openAsOwner(docker);

  const statusOf = async (orderId: string) => (await merchant.status(orderId)).data?.status;
  return {
    merchant,
    evm,
    tron,
    sui,
    database: () => database,
    reopenDatabase: async () => {
      await database.close();
      database = await openAsOwner(docker);
    },
    order: async (orderId, { chain }) =>
      untilTaken(orderId, async () =>
        merchant.createCollection({ orderId, amount: '10', symbol: 'USDT', chain }),
      ),
    payOut: async (orderId, { chain }, to) => {
      await untilTaken(orderId, async () => merchant.createPayout({ orderId, symbol: 'USDT', chain, ...to }));
    },
    untilStatus: async (orderId, status) => {
      const has = async () => (await statusOf(orderId).catch(() => undefined)) === status;
      await waitUntil(`${orderId} is ${status}`, has, WAIT_MS).catch(() => undefined);
      const is = await statusOf(orderId);
      if (is !== status) throw new Error(`${orderId} is ${is}, not ${status}`);
    },
    callbacksOf: async (orderId) => {
      const url = `http://127.0.0.1:${ports.SHOP_PORT}/callbacks.json?orderId=${orderId}`;
      return ((await (await fetch(url)).json()) as ShopCallback[]).toReversed();
    },
    findProblems: async () => findProblems(database, [...evm, tron, sui]),
    close: async () => database.close(),
  };
}

async function untilTaken(
  what: string,
  create: () => Promise<Answered<{ readonly address: string }>>,
): Promise<string> {
  let address: string | undefined;
  const isTaken = async () => {
    const { httpStatus, data, msg } = await create();
    address = data?.address;
    if (httpStatus === 200) return true;
    throw new Error(`${httpStatus} ${msg}`);
  };
  // A restarting server does not answer, or answers 503. Creation is idempotent.
  const askAgain = async (error: unknown) => pause(ASK_AGAIN_MS).then(() => Promise.reject(error));
  await waitUntil(`${what} is accepted`, async () => isTaken().catch(askAgain), WAIT_MS);
  return address ?? '';
}

function reachChains(ports: ComposeUnderTest['ports']): Pick<GatewayInContainers, 'evm' | 'tron' | 'sui'> {
  const file = join(CHECKOUT, 'deploy/networks/local.json');
  const portOf: Readonly<Record<string, number>> = {
    ETH_SEPOLIA: ports.ETH_SEPOLIA_PORT,
    BSC_TEST: ports.BSC_TEST_PORT,
    TRON_TEST: ports.TRON_TEST_PORT,
    SUI_TEST: ports.SUI_TEST_PORT,
  };
  const networks = parseNetworkFile(readFileSync(file, 'utf8'), file);
  const urlOf = (chain: string) => `http://127.0.0.1:${portOf[chain]}`;
  const evm = networks
    .filter(({ family }) => family === 'EVM')
    .map((network) => createChainUnderTest({ network, node: { rpcUrl: urlOf(network.chain) } }));
  const reach = (wanted: Family) => {
    const network = networks.find(({ family }) => family === wanted);
    if (network === undefined) throw new Error(`no network of ${wanted}`);
    return { network, node: { url: urlOf(network.chain) } };
  };
  return { evm, tron: createTronUnderTest(reach('TRON')), sui: createSuiUnderTest(reach('SUI')) };
}

/** Connects to the container's own address, because its port is not published. */
async function openAsOwner(docker: ComposeUnderTest): Promise<Database> {
  const { Networks } = (await docker.inspect('postgres')).NetworkSettings;
  const address = Networks[`${docker.project}_data`]?.IPAddress ?? '';
  const url = `postgres://opentill:${docker.secret('database_admin_password')}@${address}:5432/opentill`;
  return openDatabase({ url, applicationName: 'compose test', poolMax: 4 });
}

async function findProblems({ kysely: db }: Database, chains: readonly BookedChain[]): Promise<string[]> {
  const wallets = await db.selectFrom('hot_wallet').select(['family', 'address']).execute();
  const walletOf = (family: Family) => wallets.find((one) => one.family === family)?.address ?? '';
  const hotWallets = {
    evmHotWallet: walletOf('EVM'),
    tronHotWallet: walletOf('TRON'),
    suiHotWallet: walletOf('SUI'),
  };
  const find = async () => [
    ...(await findLedgerProblems(db)),
    ...(await findChainProblems(db, chains)),
    ...(await findPayoutProblems(db, chains, hotWallets)),
  ];
  const isAtRest = async () => (await undeliveredCount(db)) === 0 && (await find()).length === 0;
  await waitUntil('everything is at rest', isAtRest, WAIT_MS).catch(() => undefined);
  return find();
}
