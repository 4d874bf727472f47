import { afterAll, beforeAll, expect, it } from 'vitest';
import { getAddress, hexlify, randomBytes } from 'ethers';
import { sql } from 'kysely';
import type { PayinOrderAnswer } from '@opentill/contracts/http/answers';
import { signOrderId } from '@opentill/contracts/signing/verify-signature';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { CONFIRMING, CREATED, PAID, PENDING, untilStory, WAY_OF_A_PAYOUT } from '../src/stories.ts';
import { TEST_LIMIT_MS, WAIT_MS } from '../src/time-limits.ts';
import { describeWrongFiles } from './describe-secrets.ts';

let under: GatewayUnderTest;
beforeAll(async () => {
  under = await startGatewayUnderTest();
}, TEST_LIMIT_MS);
afterAll(() => under.stop());

const USDT_ON_TRON = { chain: 'TRON_TEST', symbol: 'USDT' };
const USDC_ON_EVM = { chain: 'ETH_SEPOLIA', symbol: 'USDC' };

async function choose(orderId: string, coin: object): Promise<PayinOrderAnswer> {
  const query = new URLSearchParams({ orderId, sign: signOrderId(under.merchantToken, orderId) });
  const response = await fetch(`${under.gateway.apiUrl}/v1/order/choose?${query.toString()}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(coin),
  });
  const { code, data } = (await response.json()) as { code: number; data: PayinOrderAnswer };
  expect(code).toBe(200);
  return data;
}

async function aPricedOrder(): Promise<string> {
  const orderId = under.newOrderId();
  const create = async () => under.merchant.createCollection({ orderId, price: '49.90', currency: 'EUR' });
  // The first rates are stored some seconds after the start.
  await waitUntil('there are rates', async () => (await create()).code === 200, WAIT_MS);
  const { data } = await create();
  expect(data).toMatchObject({ address: null, chosen: false, price: '49.90', currency: 'EUR', rate: '0.92' });
  return orderId;
}

it('completes an order of 49.90 EUR that is paid in two coins on two chains', async () => {
  const orderId = await aPricedOrder();
  const tron = await choose(orderId, USDT_ON_TRON);
  expect(tron).toMatchObject({ ...USDT_ON_TRON, amount: '54.24', chosen: true });
  await under.tron!.pay({ to: tron.address ?? '', amount: '20' });
  await untilStory(under.receiver, { orderId }, [CREATED, PENDING]);

  const evm = await choose(orderId, USDC_ON_EVM);
  expect(evm).toMatchObject({
    ...USDC_ON_EVM,
    receivedAmount: '20.00',
    payments: [{ ...USDT_ON_TRON, amount: '20.00' }],
  });
  expect(evm.address).not.toBe(tron.address);
  const eth = under.chains.ETH_SEPOLIA;
  const txid = await eth.pay({ to: evm.address ?? '', amount: '34.24', symbol: 'USDC' });
  await untilStory(under.receiver, { orderId }, [CREATED, PENDING, CONFIRMING, PAID]);
  const paid = under.receiver.of(orderId).at(-1)!;
  expect(paid.problems).toEqual([]);
  expect(paid.data).toMatchObject({
    ...USDC_ON_EVM,
    amount: '54.24',
    actualAmount: '54.24',
    currency: 'EUR',
    price: '49.90',
    rate: '0.92',
    transaction: { ...USDC_ON_EVM, txid, amount: '34.24' },
  });
  const { rows } = await sql<{ chain: string; symbol: string; amount: bigint }>`
    select a.chain, a.symbol, -p.amount as amount
    from orders o join ledger_transaction t on t.ref = 'credit:' || o.order_pk join ledger_posting p using (ledger_tx_id)
      join ledger_account a using (account_id)
    where o.order_id = ${orderId} and a.kind = 'MERCHANT' order by a.chain`.execute(under.database.kysely);
  expect(rows).toEqual([
    { ...USDC_ON_EVM, amount: eth.baseUnits('USDC', '34.24') },
    { ...USDT_ON_TRON, amount: under.tron!.baseUnits('USDT', '20') },
  ]);
});

it('counts a listed coin on another EVM chain than the chosen one', async () => {
  const orderId = await aPricedOrder();
  const { address } = await choose(orderId, USDC_ON_EVM);
  const bsc = under.chains.BSC_TEST;
  await bsc.pay({ to: address ?? '', amount: '54.24', symbol: 'USDT' });
  await untilStory(under.receiver, { orderId }, [CREATED, CONFIRMING, PAID]);
  expect(under.receiver.of(orderId).at(-1)!.data.transaction).toMatchObject({ chain: 'BSC_TEST' });
});

it('makes a payout once when the signer is killed while it processes it', async () => {
  const orders = await Promise.all(
    Object.values(under.chains).flatMap((chain) =>
      Array.from({ length: 3 }, async () => {
        const orderId = under.newOrderId();
        const to = getAddress(hexlify(randomBytes(20)));
        const fields = { orderId, amount: '12.34', symbol: 'USDT', chain: chain.chain, receiveAddress: to };
        expect(await under.merchant.createPayout(fields)).toMatchObject({ code: 200 });
        return { orderId, chain, to };
      }),
    ),
  );
  await under.gateway.stopService('payout-signer', 'SIGKILL');
  await under.gateway.startService('payout-signer');
  for (const { orderId, chain, to } of orders) {
    await untilStory(under.receiver, { orderId }, WAY_OF_A_PAYOUT);
    expect(await chain.balance('USDT', to)).toBe(chain.baseUnits('USDT', '12.34'));
  }
});

describeWrongFiles(() => under);

it('leaves ledger, chains and callbacks without a problem', async () => {
  expect(await under.findProblems()).toEqual([]);
});
