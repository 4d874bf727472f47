import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { parseAmount } from '@opentill/domain/money';
import { waitUntil } from '@opentill/testkit/wait-until';
import { runOpentill } from '../src/run-opentill.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';

/*
 * Received money goes to cold storage, through a whole gateway: fifty paid orders on each local chain, swept to the base unit, told
 * to their merchant, and explained by the books address by address.
 */

const ORDERS = 50;
const CHAINS = [
  { chain: 'ETH_SEPOLIA', cold: '0xa0ee7a142d267c1f36714e4a8f75612f20a79720' },
  { chain: 'BSC_TEST', cold: '0xa0ee7a142d267c1f36714e4a8f75612f20a79720' },
  { chain: 'TRON_TEST', cold: 'TQe8oR3LibG2EHCMUe6WgvHXhAVpRLizBz' },
] as const;
const PAID_WITHIN_MS = 240_000;
const SWEPT_WITHIN_MS = 420_000;

let under: GatewayUnderTest;
beforeAll(async () => {
  under = await startGatewayUnderTest();
}, 180_000);
afterAll(async () => {
  await under.stop();
}, 120_000);

/** 40 to 89 and some, so that no sum is right by chance; of less a sweep on TRON would cost more than the policy allows. */
const amountOf = (place: number) => `${place + 40}.${String((place * 37) % 10_000).padStart(4, '0')}`;

async function order(chain: string, amount: string): Promise<OrderAnswer> {
  for (;;) {
    const answer = await under.merchant.createCollection({
      orderId: under.newOrderId(),
      amount,
      symbol: 'USDT',
      chain,
    });
    if (answer.httpStatus === 200 && answer.data !== null) return answer.data;
    if (answer.httpStatus !== 429) throw new Error(`no order: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

async function opentill(...args: readonly string[]): Promise<string> {
  const { code, out, errors } = await runOpentill(under.gateway, args);
  if (code !== 0) throw new Error(`opentill ${args.join(' ')} ended with ${code}: ${errors}${out}`);
  return out;
}

async function countSweeps(chain: string, state: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from sweep where chain = ${chain} and state = ${state}`.execute(
    under.database.kysely,
  );
  return rows[0]?.n ?? 0;
}

const bookOf = (chain: string) =>
  chain === 'TRON_TEST' ? under.tron! : under.chains[chain as 'ETH_SEPOLIA' | 'BSC_TEST'];

test.each(CHAINS)(
  'fifty paid orders on $chain are swept exactly, and told of',
  async ({ chain, cold }) => {
    const devnet = bookOf(chain);
    const before = await devnet.balance('USDT', cold);
    const orders: OrderAnswer[] = [];
    let sum = 0n;
    for (let place = 0; place < ORDERS; place += 1) {
      const created = await order(chain, amountOf(place));
      orders.push(created);
      await devnet.pay({ to: created.address, amount: amountOf(place) });
      sum += devnet.baseUnits('USDT', amountOf(place));
    }
    const isPaid = ({ orderId }: OrderAnswer) =>
      under.receiver.of(orderId).some(({ notifyType }) => notifyType === 'ORDER_SUCCESS');
    await waitUntil('all are paid', () => Promise.resolve(orders.every(isPaid)), PAID_WITHIN_MS);

    // An operator sees what would be swept, and has it swept without waiting for its age.
    await opentill('sweep', 'run', '--chain', chain, '--reason', 'the test');
    await waitUntil('sweeps begin', async () => (await countSweeps(chain, 'OPEN')) > 0, 60_000);
    expect(await opentill('sweep', 'list', '--chain', chain)).toContain(chain);
    const runs = setInterval(() => {
      void opentill('sweep', 'run', '--chain', chain, '--reason', 'the rest').catch(() => undefined);
    }, 10_000);
    try {
      await waitUntil(
        'all is swept',
        async () => (await countSweeps(chain, 'DONE')) === ORDERS,
        SWEPT_WITHIN_MS,
      );
    } finally {
      clearInterval(runs);
    }
    expect((await devnet.balance('USDT', cold)) - before).toBe(sum);
    expect(await countSweeps(chain, 'FAILED')).toBe(0);
    for (const { address } of orders) expect(await devnet.balance('USDT', address)).toBe(0n);

    const collects = () =>
      under.receiver.received.filter(({ notifyType, data }) => {
        const { transaction } = data;
        return notifyType === 'COLLECT_SUCCESS' && transaction?.chain === chain;
      });
    await waitUntil('each is told of', () => Promise.resolve(collects().length >= ORDERS), 60_000);
    const told = new Map(
      collects().map(({ nonce, data }) => [nonce, data as unknown as { collectAmount: string }]),
    );
    expect(told.size).toBe(ORDERS);
    const { rows } = await sql<{ decimals: number }>`
      select decimals from orders where chain = ${chain} and symbol = 'USDT' limit 1`.execute(
      under.database.kysely,
    );
    const toldSum = [...told.values()].reduce((total, { collectAmount }) => {
      const parsed = parseAmount(collectAmount, rows[0]?.decimals ?? 0);
      if (!parsed.ok) throw new Error(`${collectAmount} is no amount`);
      return total + parsed.value;
    }, 0n);
    expect(toldSum).toBe(sum);
    expect(under.receiver.received.flatMap(({ problems }) => problems)).toEqual([]);

    // Nothing is left unexplained: received, swept, unswept, address by address.
    await waitUntil(
      'the books equal the chain',
      async () => (await runOpentill(under.gateway, ['reconcile', '--chain', chain])).code === 0,
      60_000,
    );
  },
  PAID_WITHIN_MS + SWEPT_WITHIN_MS + 120_000,
);
