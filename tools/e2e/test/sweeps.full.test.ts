import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { devAccounts } from '@opentill/devnets/tron/dev-accounts';
import { DEFAULT_SEED } from '@opentill/devnets/tron/start-tron-devnet';
import { startEnergySeller, type EnergySeller } from '@opentill/devnets/tron/start-energy-seller';
import { waitUntil } from '@opentill/testkit/wait-until';
import { runOpentill } from '../src/run-opentill.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';

// Sweeps fifty paid orders on each local chain to cold storage, and compares amounts, callbacks and ledger per address.

const ORDERS = 50;
const EVM_COLD = '0xa0ee7a142d267c1f36714e4a8f75612f20a79720';
const TRON_COLD = 'TQe8oR3LibG2EHCMUe6WgvHXhAVpRLizBz';
const SUI_COLD = `0x${'c01d'.repeat(16)}`;
const TRX = 1_000_000n;
/** Highest dynamic energy factor of USDT on TRON's main network. */
const BUSIEST = 34_000;
const CASES = [
  { chain: 'ETH_SEPOLIA', cold: EVM_COLD, by: 'TOP_UP', orders: ORDERS, prepare: () => Promise.resolve() },
  { chain: 'BSC_TEST', cold: EVM_COLD, by: 'TOP_UP', orders: ORDERS, prepare: () => Promise.resolve() },
  // The hot wallet pays the fees on SUI: USDT coins do not move free there.
  { chain: 'SUI_TEST', cold: SUI_COLD, by: 'FREE', orders: ORDERS, prepare: () => Promise.resolve() },
  { chain: 'TRON_TEST', cold: TRON_COLD, by: 'TOP_UP', orders: ORDERS, prepare: sellDearly },
  // At a high energy factor, rented energy is cheaper than burning coin. The wallet's own stake is cheapest.
  { chain: 'TRON_TEST', cold: TRON_COLD, by: 'RENT', orders: 20, prepare: makeTokenBusy },
  { chain: 'TRON_TEST', cold: TRON_COLD, by: 'STAKE', orders: 20, prepare: stakeMuch },
] as const;
const WHOLLY_SWEPT = / received (\S+) USDT, swept \1 USDT, unswept 0\.0+ USDT, unexplained 0$/;
const PAID_WITHIN_MS = 240_000;
const SWEPT_WITHIN_MS = 420_000;

let under: GatewayUnderTest;
let seller: EnergySeller;
let directory: string;
beforeAll(async () => {
  const account = devAccounts(DEFAULT_SEED, 10)[9]!;
  seller = await startEnergySeller({ nodeUrl: () => under.tron!.url, account, apiKey: 'devnet' });
  directory = mkdtempSync(join(tmpdir(), 'opentill-seller-'));
  const keyFile = join(directory, 'key');
  writeFileSync(keyFile, `${seller.apiKey}\n`, { mode: 0o600 });
  under = await startGatewayUnderTest({
    extraEnvironment: {
      'payout-signer': { ENERGY_SELLER_URL: seller.url, ENERGY_SELLER_KEY_FILE: keyFile },
    },
  });
  await under.tron!.control('stake', { address: account.address, sun: `${10_000_000n * TRX}` });
});
afterAll(async () => {
  await seller.close();
  await under.stop();
  rmSync(directory, { recursive: true, force: true });
});

function sellDearly(): Promise<void> {
  seller.setUnitPriceSun(1_000);
  return Promise.resolve();
}

async function makeTokenBusy(): Promise<void> {
  const tron = under.tron!;
  seller.setUnitPriceSun(44);
  await tron.control('setEnergyFactor', { contract: tron.contractOf('USDT'), factor: BUSIEST });
}

/** Stakes for the hot wallet by the devnet's control API, because the gateway itself does not stake. */
async function stakeMuch(): Promise<void> {
  const { rows } = await sql<{
    address: string;
  }>`select address from hot_wallet where family = 'TRON'`.execute(under.database.kysely);
  const address = rows[0]!.address;
  const sun = 1_000_000n * TRX;
  await under.tron!.control('fund', { address, trxSun: `${sun}` });
  const stake = () => under.tron!.control('stake', { address, sun: `${sun}` });
  await waitUntil('the coin to stake is in a block', () =>
    stake().then(
      () => true,
      () => false,
    ),
  );
  // Coin sent to the hot wallet for fees is not booked automatically. Staked coin still counts as its balance.
  await waitUntil(
    'the coin is booked',
    async () =>
      (await runOpentill(under.gateway, ['reconcile', '--chain', 'TRON_TEST', '--book-gas'])).code === 0,
  );
}

/** Distinct amounts from 40 to 90. Smaller ones would exceed the policy's cost share of a sweep on TRON. */
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

/** Each delegation of energy for a sweep must have been undelegated. */
async function expectNothingLent(): Promise<void> {
  const { rows } = await sql<{ kind: string; n: number }>`
    select m.kind, count(*)::int as n from movement m join payout p on p.order_pk = m.order_pk
    where m.kind in ('DELEGATE', 'UNDELEGATE') and p.money = 'PAID_OUT' group by 1 order by 1`.execute(
    under.database.kysely,
  );
  expect(rows[0]?.n).toBe(rows[1]?.n);
}

/** EVM addresses are stored without checksum. */
const asStored = (address: string) => (address.startsWith('0x') ? address.toLowerCase() : address);

const bookOf = (chain: string) =>
  chain === 'SUI_TEST'
    ? under.sui!
    : chain === 'TRON_TEST'
      ? under.tron!
      : under.chains[chain as 'ETH_SEPOLIA' | 'BSC_TEST'];

interface Collected {
  readonly collectAmount: string;
  readonly fee: string;
  readonly feeRatio: string;
  readonly transaction: { readonly txid: string; readonly from: string; readonly to: string };
}

test.each(CASES)(
  'sweeps $orders paid orders on $chain by $by, with exact amounts and callbacks',
  async ({ chain, cold, by, orders: count, prepare }) => {
    const devnet = bookOf(chain);
    await prepare();
    const before = await devnet.balance('USDT', cold);
    const doneBefore = await countSweeps(chain, 'DONE');
    const toldBefore = under.receiver.received.length;
    const orders: OrderAnswer[] = [];
    let sum = 0n;
    for (let place = 0; place < count; place += 1) {
      const created = await order(chain, amountOf(place));
      orders.push(created);
      await devnet.pay({ to: created.address, amount: amountOf(place) });
      sum += devnet.baseUnits('USDT', amountOf(place));
    }
    const isPaid = ({ orderId }: OrderAnswer) =>
      under.receiver.of(orderId).some(({ notifyType }) => notifyType === 'ORDER_SUCCESS');
    await waitUntil('all orders are paid', () => Promise.resolve(orders.every(isPaid)), PAID_WITHIN_MS);

    // The operator's run does not wait for the minimum age of deposits.
    await opentill('sweep', 'run', '--chain', chain, '--reason', 'the test');
    await waitUntil('sweeps begin', async () => (await countSweeps(chain, 'OPEN')) > 0);
    expect(await opentill('sweep', 'list', '--chain', chain)).toContain(chain);
    const runs = setInterval(() => {
      void opentill('sweep', 'run', '--chain', chain, '--reason', 'the rest').catch(() => undefined);
    }, 10_000);
    try {
      await waitUntil(
        'all deposits are swept',
        async () => (await countSweeps(chain, 'DONE')) === doneBefore + count,
        SWEPT_WITHIN_MS,
      );
    } finally {
      clearInterval(runs);
    }
    expect((await devnet.balance('USDT', cold)) - before).toBe(sum);
    expect(await countSweeps(chain, 'FAILED')).toBe(0);
    for (const { address } of orders) expect(await devnet.balance('USDT', address)).toBe(0n);
    const { rows: methods } = await sql<{ method: string; n: number }>`
      select method, count(*)::int as n from sweep where chain = ${chain} and state = 'DONE'
        and address = any(${orders.map(({ address }) => asStored(address))}::text[]) group by method`.execute(
      under.database.kysely,
    );
    expect(methods).toEqual([{ method: by, n: count }]);
    await expectNothingLent();

    const collects = () =>
      under.receiver.received.slice(toldBefore).filter(({ notifyType, data }) => {
        const { transaction } = data;
        return notifyType === 'COLLECT_SUCCESS' && transaction?.chain === chain;
      });
    await waitUntil('all callbacks arrive', () => Promise.resolve(collects().length >= count));
    const reported = new Map(collects().map(({ nonce, data }) => [nonce, data as unknown as Collected]));
    expect(reported.size).toBe(count);
    // One transaction per address with the paid amount, without a fee for the merchant.
    const paid = orders.map(({ address }, place) => [address, devnet.baseUnits('USDT', amountOf(place))]);
    const swept = [...reported.values()].map(
      ({ collectAmount, transaction }) =>
        [transaction.from, devnet.baseUnits('USDT', collectAmount)] as const,
    );
    expect(new Map(swept)).toEqual(new Map(paid as [string, bigint][]));
    for (const { fee, feeRatio, transaction } of reported.values()) {
      expect({ fee, feeRatio }).toEqual({ fee: '0', feeRatio: '0' });
      expect(asStored(transaction.to)).toBe(cold);
    }
    expect(new Set([...reported.values()].map(({ transaction }) => transaction.txid)).size).toBe(count);
    const pending = under.receiver.received
      .slice(toldBefore)
      .filter(({ notifyType }) => notifyType === 'COLLECT_PENDING');
    expect(new Set(pending.map(({ nonce }) => nonce)).size).toBeGreaterThanOrEqual(count);
    expect(under.receiver.received.flatMap(({ problems }) => problems)).toEqual([]);

    // Received, swept and unswept amounts agree for each address.
    let report = '';
    await waitUntil(
      'the ledger equals the chain',
      async () => {
        const { code, out } = await runOpentill(under.gateway, [
          'reconcile',
          '--addresses',
          '--chain',
          chain,
        ]);
        report = out;
        return code === 0;
      },
      60_000,
    );
    for (const [place, { address }] of orders.entries()) {
      const lines = report.split('\n').filter((line) => line.startsWith(`${chain} ${asStored(address)} `));
      const ofTokens = lines.flatMap((line) => WHOLLY_SWEPT.exec(line)?.[1] ?? []);
      expect(ofTokens.map((shown) => devnet.baseUnits('USDT', shown))).toEqual([
        devnet.baseUnits('USDT', amountOf(place)),
      ]);
      expect(lines.filter((line) => !line.endsWith(', unexplained 0'))).toEqual([]);
    }
  },
  PAID_WITHIN_MS + SWEPT_WITHIN_MS + 120_000,
);
