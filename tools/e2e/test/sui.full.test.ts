import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { CONFIRMING, CREATED, PAID, PENDING, untilStory } from '../src/stories.ts';
import type { SuiUnderTest } from '../src/sui-under-test.ts';
import { collectionSteps } from './collection-steps.ts';

const CALLBACKS_WITHIN_MS = 30_000;
/** Limit of the median time from the customer's transfer to the ORDER_SUCCESS callback. */
const PAID_WITHIN_MS = 1_000;
const CUSTOMER = '0x433d4d9bcdf6cd6cd882322828f89d86f84b58395d44e620bd55d3f29380b88c';

let test: GatewayUnderTest;
let sui: SuiUnderTest;

beforeAll(async () => {
  test = await startGatewayUnderTest({
    services: [
      'api',
      'scanner-evm',
      'scanner-sui',
      'confirmation-tracker',
      'payout-signer',
      'webhook-sender',
      'demo-shop',
    ],
  });
  sui = test.sui!;
});
afterAll(async () => test.stop(), 60_000);

const { order, payThroughShop, lastOf } = collectionSteps(() => test);

it('completes an order with callbacks that equal the chain', async () => {
  const collection = await order(sui, { amount: '12.5', symbol: 'USDT' });
  expect(collection.address).toMatch(/^0x[0-9a-f]{64}$/);
  const txid = await payThroughShop(collection);
  await untilStory(test.receiver, collection, [CREATED, CONFIRMING, PAID], CALLBACKS_WITHIN_MS);
  const data = lastOf(collection);
  expect(data).toMatchObject({ status: 'SUCCESS', actualAmount: '12.50' });
  expect(data.transaction).toMatchObject({
    chain: 'SUI_TEST',
    symbol: 'USDT',
    contractAddress: sui.coinTypeOf('USDT'),
    txid,
    from: CUSTOMER,
    to: collection.address,
    amount: '12.50',
    blockNum: await sui.checkpointOf(txid),
    status: 'SUCCESS',
  });
});

it('sends ORDER_SUCCESS within 1 s after the transfer', async () => {
  const tookMs: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    const collection = await order(sui, { symbol: 'USDC' });
    const isCreated = () => test.receiver.story(collection.orderId).length > 0;
    await waitUntil('the first callback arrives', isCreated, CALLBACKS_WITHIN_MS);
    const paidAt = performance.now();
    await sui.pay({ to: collection.address, amount: '100', symbol: 'USDC' });
    const isPaid = () => test.receiver.story(collection.orderId).at(-1) === PAID;
    await waitUntil('the order is paid', isPaid, CALLBACKS_WITHIN_MS);
    tookMs.push(performance.now() - paidAt);
  }
  process.stdout.write(`from transfer to SUCCESS: ${tookMs.map((ms) => Math.round(ms)).join(', ')} ms\n`);
  const [median = Infinity] = tookMs.toSorted((a, b) => a - b).slice(tookMs.length / 2);
  expect(median).toBeLessThan(PAID_WITHIN_MS);
});

it('counts partial payments as coins and to the address balance', async () => {
  const collection = await order(sui, { symbol: 'USDC' });
  await sui.pay({ to: collection.address, amount: '40', symbol: 'USDC', form: 'address' });
  await untilStory(test.receiver, collection, [CREATED, PENDING], CALLBACKS_WITHIN_MS);
  await sui.pay({ to: collection.address, amount: '60', symbol: 'USDC' });
  await untilStory(test.receiver, collection, [CREATED, PENDING, CONFIRMING, PAID], CALLBACKS_WITHIN_MS);
  expect(await test.findProblems()).toEqual([]);
});

it.each([
  ['USDC', '12.34'],
  ['USDT', '0.01'],
] as const)(
  'completes a payout of %s with the exact amount and all callbacks',
  async (symbol, amount) => {
    const receiveAddress = `0x${randomBytes(32).toString('hex')}`;
    const orderId = test.newOrderId();
    const answer = await test.merchant.createPayout({
      orderId,
      symbol,
      chain: sui.chain,
      receiveAddress,
      amount,
    });
    expect(answer).toMatchObject({ httpStatus: 200, code: 200, msg: 'success' });
    const story = () => test.receiver.story(orderId);
    await waitUntil('the payout is paid', () => story().at(-1) === PAID, CALLBACKS_WITHIN_MS).catch(
      () => undefined,
    );
    // A checkpoint is final at once, so the CONFIRMING callback may be skipped.
    expect([
      [CREATED, PENDING, CONFIRMING, PAID],
      [CREATED, PENDING, PAID],
    ]).toContainEqual(story());
    expect(await sui.balance(symbol, receiveAddress)).toBe(sui.baseUnits(symbol, amount));
    const { transaction } = test.receiver.of(orderId).at(-1)!.data;
    expect(transaction).toMatchObject({
      chain: 'SUI_TEST',
      symbol,
      to: receiveAddress,
      blockNum: await sui.checkpointOf(transaction!.txid),
    });
    expect(await test.findProblems()).toEqual([]);
  },
  60_000,
);
