import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { findFreePort } from '@opentill/test-servers/free-port';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { startCallbackReceiver, type CallbackReceiver } from '../callback-receiver.ts';
import { createChainUnderTest, type ChainUnderTest } from '../chain-under-test.ts';
import { createChainCustomers, type ChainCustomers } from '../chaos/chain-customers.ts';
import { summarise } from '../chaos/find-book-problems.ts';
import { findChaosProblems } from '../chaos/find-chaos-problems.ts';
import type { ChaosFacts } from '../chaos/facts.ts';
import type { CreatedOrder } from '../chaos/live-through-stories.ts';
import type { CreatedPayout } from '../chaos/pay-out.ts';
import { readFacts } from '../chaos/read-facts.ts';
import { createMerchantClient } from '../merchant-client.ts';
import { runOpentill } from '../run-opentill.ts';
import { openCluster, type Cluster } from './cluster.ts';
import { installGateway, type InstalledGateway } from './install-gateway.ts';
import { countRequests, findLastProblems, keepPaying, type RequestCount } from './keep-paying.ts';
import type { ServerKind } from './servers.ts';

const SEED = Number(process.env['OPENTILL_E2E_SEED'] ?? 20_261_123);
const PAYMENTS_PER_SECOND = Number(process.env['OPENTILL_TEST_PAYMENTS_PER_SECOND'] ?? 20);
const KEEP = process.env['OPENTILL_E2E_KEEP'] === '1';
export const REST_WITHIN_MS = 300_000;
const PROBLEMS_SHOWN = 50;
/** USDT and USDC. */
const TOKENS_PER_CHAIN = 2;

/** A gateway in a namespace of its own, with customers of its EVM chains and a shop on this machine. */
export interface PaidGateway {
  readonly cluster: Cluster;
  readonly gateway: InstalledGateway;
  readonly receiver: CallbackReceiver;
  readonly customers: readonly [ChainCustomers, ChainCustomers];
  /** A killed webhook-sender may have sent a callback without recording the attempt. */
  countSenderFault(): void;
  /** Pays while `work` runs, then waits until the gateway is at rest and its books agree with the chains and the shop. */
  payWhile(name: string, work: (count: RequestCount) => Promise<unknown>): Promise<PaidMeanwhile>;
  close(): Promise<void>;
}

export interface PaidMeanwhile {
  readonly count: RequestCount;
  /** Differences that are left after REST_WITHIN_MS. */
  readonly problems: readonly string[];
}

/** Needs OPENTILL_TEST_HOST, an address of this machine that pods reach. */
export async function startPaidGateway(servers: ServerKind): Promise<PaidGateway> {
  const host = process.env['OPENTILL_TEST_HOST'];
  if (host === undefined) throw new Error('OPENTILL_TEST_HOST is not set. See CONTRIBUTING.md.');
  const cluster = await openCluster(`opentill-test-${randomBytes(3).toString('hex')}`);
  const remove = async (): Promise<void> => (KEEP ? undefined : cluster.remove());
  try {
    const port = await findFreePort();
    const gateway = await installGateway(cluster, `http://${host}:${port}/callbacks`, servers);
    await prepare(gateway);
    const receiver = await startCallbackReceiver(port, gateway.secret('webhook_secret'), host);
    return takePayments(cluster, gateway, receiver, remove);
  } catch (error) {
    await remove();
    throw error;
  }
}

async function prepare(gateway: InstalledGateway): Promise<void> {
  const limits = { createCollection: { requests: 10_000, seconds: 10 } };
  await sql`update merchant set rate_limits = ${JSON.stringify(limits)}::jsonb, updated_at = now()`.execute(
    gateway.database.kysely,
  );
  const { OPS_TOKEN_FILE: tokenFile = '', ...first } = gateway.operatorEnvironment;
  const operator = ['operator', 'create', '--id', 'test', '--role', 'admin', '--token-file', tokenFile];
  const { code } = await runOpentill({ operatorEnvironment: first }, operator);
  if (code !== 0) throw new Error(`opentill operator create ended with code ${code}`);
}

function takePayments(
  cluster: Cluster,
  gateway: InstalledGateway,
  receiver: CallbackReceiver,
  remove: () => Promise<void>,
): PaidGateway {
  const orders: CreatedOrder[] = [];
  const payouts: CreatedPayout[] = [];
  let senderFaults = 0;
  const customers: PaidGateway['customers'] = [
    createChainCustomers(chainOf(gateway, 'ETH_SEPOLIA'), seededRandom(SEED + 1)),
    createChainCustomers(chainOf(gateway, 'BSC_TEST'), seededRandom(SEED + 2)),
  ];
  const sources = {
    database: gateway.database,
    amqpUrl: gateway.amqpUrl,
    shops: [{ receiver }],
    evmHotWallet: gateway.hotWallets.EVM.hotWallets[0] ?? '',
  };
  return {
    cluster,
    gateway,
    receiver,
    customers,
    countSenderFault: () => void (senderFaults += 1),
    async payWhile(name, work) {
      const count: RequestCount = { requests: 0, answered: 0, failed: [] };
      const merchant = createMerchantClient(gateway.apiUrl, gateway.secret('merchant_token'));
      const load = {
        customers,
        client: countRequests(merchant, count),
        random: seededRandom(SEED),
        paymentsPerSecond: PAYMENTS_PER_SECOND,
        payoutsPerSecond: 1,
      };
      const paid = await keepPaying(name, load, work(count));
      orders.push(...paid.orders);
      payouts.push(...paid.payouts);
      let summary = '';
      const startedAt = performance.now();
      const find = async () => {
        const facts = await readFacts(sources, customers, orders, payouts, senderFaults);
        const expected = withoutTopUps(gateway, facts);
        summary = summarise(expected);
        return findChaosProblems(expected);
      };
      const problems = await findLastProblems('the gateway is at rest', find, REST_WITHIN_MS);
      const figures = {
        seconds: Math.round(paid.seconds),
        payments: paid.orders.length,
        paymentsPerSecond: (paid.orders.length / paid.seconds).toFixed(1),
        payouts: paid.payouts.length,
        requests: count.requests,
        failed: count.failed.length,
        restSeconds: Math.round((performance.now() - startedAt) / 1_000),
      };
      const lines = [`${name}: ${JSON.stringify(figures)}`, summary, ...problems.slice(0, PROBLEMS_SHOWN)];
      process.stderr.write(`${lines.join('\n')}\n`);
      return { count, problems };
    },
    async close() {
      await receiver.close();
      await gateway.close();
      await remove();
    },
  };
}

function chainOf(gateway: InstalledGateway, name: string): ChainUnderTest {
  const network = gateway.networks.find(({ chain }) => chain === name);
  if (network === undefined) throw new Error(`the networks file has no chain ${name}`);
  return createChainUnderTest({ network, node: { rpcUrl: gateway.nodeUrls.get(name) ?? '' } });
}

/** The scanners saw the hot wallets' first tokens, which the checker does not expect: one transfer of each, verified. */
function withoutTopUps(gateway: InstalledGateway, facts: ChaosFacts): ChaosFacts {
  const wallets = new Set(
    Object.values(gateway.hotWallets).flatMap(({ hotWallets }) =>
      hotWallets.map((address) => address.toLowerCase()),
    ),
  );
  const { tables } = facts;
  const topUps = tables.transfers.filter(({ to }) => wallets.has(to));
  const booked = topUps.filter((row) => row.state === 'VERIFIED' && row.booked).length;
  const expected = gateway.networks.length * TOKENS_PER_CHAIN;
  if (booked !== expected) throw new Error(`${booked} transfers to hot wallets are booked, not ${expected}`);
  return {
    ...facts,
    tables: { ...tables, transfers: tables.transfers.filter(({ to }) => !wallets.has(to)) },
  };
}
