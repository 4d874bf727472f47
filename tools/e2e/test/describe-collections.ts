import { describe, expect, it } from 'vitest';
import { getAddress } from 'ethers';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { contractInterface } from '@opentill/devnets/evm/contract-artifacts';
import { sendTransaction } from '@opentill/devnets/evm/transactions';
import { formatAmount } from '@opentill/domain/money';
import type { EvmDevnetChain } from '@opentill/local/gateway-options';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { CONFIRMING, CREATED, PAID, PENDING, untilStory } from '../src/stories.ts';
import { WAIT_MS } from '../src/time-limits.ts';
import { collectionSteps, CONFIRMATIONS } from './collection-steps.ts';

/** The transaction that a callback and GET status must show, computed only from the chain. */
async function transactionOf(chain: ChainUnderTest, collection: OrderAnswer, txid: string, amount: string) {
  const mined = await chain.mined(txid);
  return {
    chain: chain.chain,
    symbol: collection.symbol,
    contractAddress: chain.contractOf(collection.symbol),
    decimals: chain.decimalsOf(collection.symbol),
    txid,
    from: mined.from,
    to: getAddress(collection.address.toLowerCase()),
    amount,
    blockNum: mined.blockNum,
    timestamp: mined.timestamp,
    txGas: formatAmount(mined.fee, chain.nativeDecimals, 0),
  };
}

export function describeCollections(under: () => GatewayUnderTest<RunningGateway>): void {
  const { order, payThroughShop, lastOf, untilUnmatched } = collectionSteps(under);
  const eth = () => under().chains.ETH_SEPOLIA;
  const bsc = () => under().chains.BSC_TEST;

  describe('a collection', () => {
    it.concurrent.each([
      ['ETH_SEPOLIA', 'USDT', '12.5', '12.50', 'shop'],
      ['ETH_SEPOLIA', 'USDC', '0.010001', '0.010001', 'raw'],
      ['BSC_TEST', 'USDT', '1.000000000000000001', '1.000000000000000001', 'raw'],
      ['BSC_TEST', 'USDC', '250', '250.00', 'shop'],
    ] as const)(
      'on %s in %s of %s completes with signed callbacks and exact amounts',
      async (chainName, symbol, amount, shown, way) => {
        const chain = under().chains[chainName as EvmDevnetChain];
        const askedAt = Math.floor(Date.now() / 1000);
        const collection = await order(chain, { symbol, amount });
        const answeredAt = Math.floor(Date.now() / 1000);
        expect(collection).toMatchObject({ amount: shown, symbol, chain: chainName, uid: null });
        expect(collection.address).toBe(getAddress(collection.address.toLowerCase()));
        expect(collection.expiredTime).toBeGreaterThanOrEqual(askedAt + 1_800);
        expect(collection.expiredTime).toBeLessThanOrEqual(answeredAt + 1_800);

        const txid =
          way === 'shop' ? await payThroughShop(collection) : await payWithOwnNonce(chain, collection);
        await untilStory(under().receiver, collection, [CREATED, CONFIRMING, PAID]);

        const transaction = await transactionOf(chain, collection, txid, shown);
        const [created, confirming, paid] = under().receiver.of(collection.orderId);
        const common = { orderId: collection.orderId, uid: null, orderType: 'COLLECTION', reason: null };
        const money = { amount: shown, fee: '0', feeRatio: '0' };
        expect(created?.data).toEqual({
          ...common,
          ...money,
          status: 'INIT',
          actualAmount: null,
          transaction: null,
        });
        expect(confirming?.data).toMatchObject({
          ...common,
          ...money,
          status: 'PENDING_CONFIRMATION',
          actualAmount: null,
        });
        expect(confirming?.data.transaction).toMatchObject({ ...transaction, status: 'PENDING' });
        expect(paid?.data).toMatchObject({ ...common, ...money, status: 'SUCCESS', actualAmount: shown });
        expect(paid?.data.transaction).toMatchObject({ ...transaction, status: 'SUCCESS' });
        expect(confirming!.data.transaction!.confirmedNum).toBeGreaterThanOrEqual(1);
        expect(paid!.data.transaction!.confirmedNum).toBeGreaterThanOrEqual(CONFIRMATIONS);
        expect(
          under()
            .receiver.of(collection.orderId)
            .flatMap(({ problems }) => problems),
        ).toEqual([]);

        const status = await under().merchant.status(collection.orderId);
        expect(status).toMatchObject({ httpStatus: 200, code: 200, msg: 'success' });
        expect(status.data).toEqual({
          ...paid!.data,
          unmatched: [],
          transaction: { ...paid!.data.transaction, confirmedNum: expect.any(Number) },
        });
        expect(status.data!.transaction!.confirmedNum).toBeGreaterThanOrEqual(CONFIRMATIONS);
        const pay = await under().merchant.pay(collection.orderId);
        expect(pay.data).toMatchObject({
          orderId: collection.orderId,
          status: 'SUCCESS',
          amount: shown,
          actualAmount: shown,
          receivedAmount: shown,
          txid,
          address: collection.address,
          requiredConfirmations: CONFIRMATIONS,
          expiredTime: collection.expiredTime,
        });
        expect((await under().merchant.getOrderStatus(collection.orderId)).data).toEqual({
          status: 'SUCCESS',
          unmatched: [],
        });
      },
    );

    /** Pays like an independent wallet: with its own nonce, as a raw transaction. */
    async function payWithOwnNonce(
      chain: ChainUnderTest,
      { address, symbol, amount }: OrderAnswer,
    ): Promise<string> {
      const { privateKey } = devAccount(3);
      const amountBaseUnits = chain.baseUnits(symbol, amount);
      const data = contractInterface('UsdcLike').encodeFunctionData('transfer', [address, amountBaseUnits]);
      return sendTransaction({
        rpcUrl: chain.rpcUrl,
        fromKey: privateKey,
        to: chain.contractOf(symbol),
        data,
      });
    }

    it.concurrent('sends verifiable callbacks to the demo shop', async () => {
      const collection = await order(eth());
      await untilStory(under().receiver, collection, [CREATED]);
      let received: readonly unknown[] = [];
      const isThere = async () => {
        const response = await fetch(
          `${under().gateway.shopUrl}/callbacks.json?orderId=${collection.orderId}`,
        );
        received = (await response.json()) as readonly unknown[];
        return received.length > 0;
      };
      await waitUntil('the shop has the callback', isThere, WAIT_MS);
      // The newest is first. A callback that was answered late is repeated.
      expect(received.at(-1)).toMatchObject({ verified: true, notifyType: 'ORDER_PENDING', repeats: 0 });
    });

    it.concurrent('is created once for repeated requests, and answers 409 to other terms', async () => {
      const fields = { orderId: under().newOrderId(), amount: '5', symbol: 'USDT', chain: 'ETH_SEPOLIA' };
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => under().merchant.createCollection(fields)),
      );
      expect(new Set(answers.map(({ data }) => JSON.stringify(data))).size).toBe(1);
      const other = await under().merchant.createCollection({ ...fields, amount: '6' });
      expect(other).toMatchObject({
        httpStatus: 409,
        code: 409,
        msg: 'Order ID already exists.',
        data: null,
      });
      await untilStory(under().receiver, answers[0]!.data!, [CREATED]);
    });
  });

  // Concurrent tests pay from different accounts, whose nonces would collide.
  describe('payments of a collection', () => {
    it.concurrent('reports each partial payment, and SUCCESS after the last one', async () => {
      const collection = await order(eth());
      await eth().pay({ to: collection.address, amount: '40' });
      await untilStory(under().receiver, collection, [CREATED, PENDING]);
      expect(lastOf(collection)).toMatchObject({
        amount: '100.00',
        transaction: { amount: '40.00', status: 'PENDING' },
      });
      expect((await under().merchant.pay(collection.orderId)).data).toMatchObject({
        receivedAmount: '40.00',
        status: 'PENDING',
      });
      const txid = await eth().pay({ to: collection.address, amount: '60', account: 3 });
      await untilStory(under().receiver, collection, [CREATED, PENDING, CONFIRMING, PAID]);
      expect(lastOf(collection)).toMatchObject({
        actualAmount: '100.00',
        transaction: { txid, amount: '60.00' },
      });
    });

    it.concurrent('counts an overpayment, and records a payment after SUCCESS as unmatched', async () => {
      const collection = await order(bsc());
      await bsc().pay({ to: collection.address, amount: '120.5' });
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING, PAID]);
      expect(lastOf(collection)).toMatchObject({ amount: '100.00', actualAmount: '120.50' });
      await bsc().pay({ to: collection.address, amount: '7' });
      await untilUnmatched(collection, 'AFTER_SUCCESS');
      expect((await under().merchant.status(collection.orderId)).data).toMatchObject({
        status: 'SUCCESS',
        actualAmount: '120.50',
      });
      expect(under().receiver.story(collection.orderId)).toEqual([CREATED, CONFIRMING, PAID]);
    });

    it.concurrent('records a wrong token and a wrong chain as unmatched', async () => {
      const collection = await order(eth());
      await eth().pay({ to: collection.address, amount: '100', symbol: 'USDC', account: 4 });
      await bsc().pay({ to: collection.address, amount: '100', account: 4 });
      await untilUnmatched(collection, 'WRONG_TOKEN');
      await untilUnmatched(collection, 'WRONG_CHAIN');
      expect((await under().merchant.status(collection.orderId)).data).toMatchObject({
        status: 'INIT',
        transaction: null,
      });
      await untilStory(under().receiver, collection, [CREATED]);
      const txid = await eth().pay({ to: collection.address, amount: '100', account: 4 });
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING, PAID]);
      expect(lastOf(collection)).toMatchObject({ actualAmount: '100.00', transaction: { txid } });
    });

    it('sends one confirmation callback for three payments of one block', async () => {
      const collection = await order(eth());
      await eth().mineByHand();
      for (const amount of ['30', '30', '40']) await eth().pay({ to: collection.address, amount });
      await eth().mine();
      await eth().mineByTime();
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING, PAID]);
      expect(lastOf(collection).actualAmount).toBe('100.00');
    });
  });
}
