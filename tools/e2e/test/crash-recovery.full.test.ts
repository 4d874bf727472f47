import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { connect } from 'amqplib';
import { sql } from 'kysely';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { queues } from '@opentill/contracts/topology';
import { SERVICE_SCHEMAS } from '@opentill/db/service-schema';
import { formatAmount } from '@opentill/domain/money';
import type { ServiceName } from '@opentill/local/gateway-options';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import { randomInteger, shuffled } from '../src/random.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { startRestartableServers, type RestartableServers } from '../src/start-restartable-servers.ts';
import { TEST_LIMIT_MS, WAIT_MS } from '../src/time-limits.ts';

const PAYMENTS = 30;
/** OPENTILL_E2E_SEED repeats a run or selects another. */
const SEED = Number(process.env['OPENTILL_E2E_SEED'] ?? 20_261_121);
/** Killed while payments arrive. `disk of the broker`: the broker also loses its data. */
const CASUALTIES: readonly (ServiceName | 'broker' | 'disk of the broker' | 'database')[] = [
  ...(['api', 'scanner-evm', 'confirmation-tracker', 'webhook-sender'] as const),
  ...(['api', 'scanner-evm', 'confirmation-tracker', 'webhook-sender'] as const),
  'broker',
  'disk of the broker',
  'database',
];

vi.setConfig({ testTimeout: TEST_LIMIT_MS, hookTimeout: TEST_LIMIT_MS });

let servers: RestartableServers;
let test: GatewayUnderTest;

beforeAll(async () => {
  servers = await startRestartableServers();
  test = await startGatewayUnderTest({
    given: { databaseUrl: servers.databaseUrl, amqpUrl: servers.amqpUrl },
    services: ['api', 'scanner-evm', 'confirmation-tracker', 'webhook-sender'],
  });
});
afterAll(async () => {
  await test?.stop();
  await servers?.stop();
});

interface Paid {
  readonly order: OrderAnswer;
  readonly chain: ChainUnderTest;
  readonly baseUnits: bigint;
}

/** Retries like a merchant's server; creation is idempotent. */
async function createUntilAnswered(
  chain: ChainUnderTest,
  amount: string,
  symbol: string,
): Promise<OrderAnswer> {
  const fields = { orderId: test.newOrderId(), amount, symbol, chain: chain.chain };
  let order: OrderAnswer | null = null;
  await waitUntil(
    `${fields.orderId} is created`,
    async () => {
      const answer = await test.merchant.createCollection(fields);
      if (answer.code !== 200 && answer.code !== 503) throw new Error(`${answer.code} ${answer.msg}`);
      order = answer.data;
      return order !== null;
    },
    WAIT_MS,
  );
  return order!;
}

async function payAll(random: () => number): Promise<Paid[]> {
  const chains = Object.values(test.chains);
  const paid: Paid[] = [];
  for (let index = 0; index < PAYMENTS; index += 1) {
    const chain = chains[index % chains.length]!;
    const symbol = random() < 0.5 ? 'USDT' : 'USDC';
    const cents = randomInteger(random, 100, 90_000);
    const order = await createUntilAnswered(chain, formatAmount(BigInt(cents), 2, 2), symbol);
    const wholly = order.amount;
    const parts = random() < 0.3 ? ['0.5', wholly] : [wholly]; // some overpay in two payments
    for (const amount of parts)
      await chain.pay({ to: order.address, symbol, amount, account: randomInteger(random, 2, 4) });
    const baseUnits = parts.reduce((sum, amount) => sum + chain.baseUnits(symbol, amount), 0n);
    paid.push({ order, chain, baseUnits });
    await abortableDelay(randomInteger(random, 200, 1_200)); // payments last as long as the kills
  }
  return paid;
}

async function killInTurn(random: () => number): Promise<string[]> {
  const killed: string[] = [];
  for (const name of shuffled(random, CASUALTIES)) {
    await abortableDelay(randomInteger(random, 100, 900));
    if (name === 'broker') await servers.restartBroker('kill');
    else if (name === 'disk of the broker') await servers.wipeBroker();
    else if (name === 'database') await servers.restartDatabase('immediate');
    else {
      await test.gateway.stopService(name, 'SIGKILL');
      await test.gateway.startService(name);
    }
    killed.push(name);
  }
  return killed;
}

it(`settles each of ${PAYMENTS} payments once while every process is killed (seed ${SEED})`, async () => {
  // The merchant's server rejects the first attempt of some callbacks.
  const refused = new Set<string>();
  test.receiver.answer = ({ nonce }) => {
    if (refused.has(nonce) || Number.parseInt(nonce.slice(-2), 16) > 40) return 200;
    refused.add(nonce);
    return 503;
  };
  const work = Promise.all([payAll(seededRandom(SEED)), killInTurn(seededRandom(SEED + 1))]);
  const [paid, killed] = await Promise.race([work, test.gateway.died]);
  expect(killed.toSorted()).toEqual(CASUALTIES.toSorted());

  const { kysely: db } = test.database;
  const statuses = async () =>
    (await db.selectFrom('orders').select(['status', 'order_id']).execute()).map((row) => row.status);
  await waitUntil(
    'every order is SUCCESS',
    async () => (await statuses()).filter((status) => status === 'SUCCESS').length === PAYMENTS,
    WAIT_MS,
  ).catch(() => undefined); // the next assertion shows the actual statuses
  expect(await statuses()).toEqual(Array.from({ length: PAYMENTS }, () => 'SUCCESS'));
  expect(await test.findProblems()).toEqual([]);
  expect(refused.size).toBeGreaterThan(0);

  // Each order has its exact payments, in base units.
  const orders = await db
    .selectFrom('orders')
    .select(['order_id', 'detected_amount', 'actual_amount'])
    .execute();
  const booked = await db
    .selectFrom('transfer as t')
    .innerJoin('transfer_settlement as s', 's.transfer_id', 't.transfer_id')
    .innerJoin('orders as o', 'o.order_pk', 's.order_pk')
    .select(['o.order_id', 't.amount'])
    .where('s.booked', '=', true)
    .execute();
  const sumOf = (orderId: string) =>
    booked.filter((row) => row.order_id === orderId).reduce((sum, row) => sum + row.amount, 0n);
  expect(orders).toHaveLength(PAYMENTS);
  expect(Object.fromEntries(paid.map(({ order }) => [order.orderId, sumOf(order.orderId)]))).toEqual(
    Object.fromEntries(paid.map(({ order, baseUnits }) => [order.orderId, baseUnits])),
  );
  await expectNothingLeftOver();
});

/** Checks that no event waits to be published and none was dead-lettered. */
async function expectNothingLeftOver(): Promise<void> {
  const waiting = async () => {
    const counts: string[] = [];
    for (const schema of SERVICE_SCHEMAS) {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from ${sql.table(`${schema}.outbox`)}
        where created_at < now() - interval '2 seconds'`.execute(test.database.kysely);
      if (rows[0]?.count !== 0) counts.push(`${schema}: ${rows[0]?.count}`);
    }
    return counts;
  };
  let left: readonly string[] = ['not checked'];
  // New blocks create events continuously, which a slow relay delays. One check with empty outboxes is enough.
  const isNothingLeft = async () => (left = await waiting()).length === 0;
  await waitUntil('the outboxes are empty', isNothingLeft, WAIT_MS).catch(() => undefined);
  expect(left).toEqual([]);
  const connection = await connect(servers.amqpUrl);
  try {
    const channel = await connection.createChannel();
    for (const { deadLetterQueue } of queues()) {
      const { messageCount } = await channel.checkQueue(deadLetterQueue);
      expect({ deadLetterQueue, messageCount }).toEqual({ deadLetterQueue, messageCount: 0 });
    }
  } finally {
    await connection.close();
  }
}
