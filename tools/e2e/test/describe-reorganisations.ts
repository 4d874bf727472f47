import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Transaction } from 'ethers';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { contractInterface } from '@opentill/devnets/evm/contract-artifacts';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { restoreSnapshot, takeSnapshot } from '@opentill/devnets/evm/start-evm-devnet';
import { signTransaction } from '@opentill/devnets/evm/transactions';
import type { EvmDevnetChain } from '@opentill/local/gateway-options';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { CONFIRMING, CREATED, PAID, untilStory } from '../src/stories.ts';
import { WAIT_MS } from '../src/time-limits.ts';
import { collectionSteps, CONFIRMATIONS } from './collection-steps.ts';

export function describeReorganisations(under: () => GatewayUnderTest<RunningGateway>): void {
  const { order, untilLast, lastOf, transfersTo, untilUnmatched } = collectionSteps(under);
  const eth = () => under().chains.ETH_SEPOLIA;
  const bsc = () => under().chains.BSC_TEST;

  const orderRow = (collection: OrderAnswer) =>
    under()
      .database.kysely.selectFrom('orders')
      .selectAll()
      .where('order_id', '=', collection.orderId)
      .executeTakeFirstOrThrow();

  describe('reorganisations', () => {
    /** Below, at and above the confirmations. chaos.full.test.ts has random depths. */
    const DEPTHS = [1, CONFIRMATIONS, 10];
    /** Blocks between two tests, so that a reorganisation does not reach into the earlier one. */
    const APART = 12;

    beforeAll(async () => {
      await Promise.all([eth().mineByHand(), bsc().mineByHand()]);
    });
    afterAll(async () => {
      await Promise.all([eth().mineByTime(), bsc().mineByTime()]);
    });

    interface Story {
      readonly collection: OrderAnswer;
      readonly txid: string;
      readonly raw: string;
      readonly account: number;
    }

    /** Three orders, paid in one block by three customers, followed by `above` blocks. */
    async function threePaid(chain: ChainUnderTest, above: number): Promise<readonly [Story, Story, Story]> {
      await chain.mine(APART);
      const stories: Story[] = [];
      for (const account of [2, 3, 4]) {
        const collection = await order(chain);
        const txid = await chain.pay({ to: collection.address, amount: '100', account });
        stories.push({ collection, txid, account, raw: await chain.rawTransaction(txid) });
      }
      await chain.mine(1 + above);
      return stories as unknown as readonly [Story, Story, Story];
    }

    /** A payment with the same customer and nonce, so that only one of the two can be mined. */
    async function replacementOf(
      chain: ChainUnderTest,
      { raw, account, collection }: Story,
    ): Promise<string> {
      const amount = chain.baseUnits('USDT', '100.5');
      return signTransaction({
        rpcUrl: chain.rpcUrl,
        fromKey: devAccount(account).privateKey,
        to: chain.contractOf('USDT'),
        data: contractInterface('UsdcLike').encodeFunctionData('transfer', [collection.address, amount]),
        nonce: Transaction.from(raw).nonce,
      });
    }

    /** Drops the first payment, moves the second to another block, and replaces the third by another payment. */
    async function reorganise(chain: ChainUnderTest, depth: number, stories: readonly [Story, Story, Story]) {
      const [, moved, replaced] = stories;
      const replacement = await replacementOf(chain, replaced);
      await chain.reorg(depth, [
        { rawTransaction: moved.raw, blockOffset: depth % 2 === 0 ? 0 : depth - 1 },
        { rawTransaction: replacement, blockOffset: Math.floor(depth / 2) },
      ]);
      return { replacementTxid: Transaction.from(replacement).hash! };
    }

    async function beforeSuccess(chain: ChainUnderTest, depth: number): Promise<void> {
      const stories = await threePaid(chain, Math.min(depth - 1, 1));
      const [dropped, moved, replaced] = stories;
      for (const { collection } of stories)
        await untilStory(under().receiver, collection, [CREATED, CONFIRMING]);
      const { replacementTxid } = await reorganise(chain, depth, stories);

      await untilStory(under().receiver, dropped.collection, [CREATED, CONFIRMING, CREATED]);
      expect(lastOf(dropped.collection)).toMatchObject({
        reason: 'Reorganised',
        transaction: null,
        actualAmount: null,
      });
      expect((await under().merchant.pay(dropped.collection.orderId)).data).toMatchObject({
        receivedAmount: '0.00',
        txid: null,
      });
      const again = await chain.pay({ to: dropped.collection.address, amount: '100', account: 2 });
      await chain.mine(CONFIRMATIONS + 1);

      for (const [{ collection }, txid, amount] of [
        [dropped, again, '100.00'],
        [moved, moved.txid, '100.00'],
        [replaced, replacementTxid, '100.50'],
      ] as const) {
        await untilLast(collection, PAID);
        const { blockNum } = await chain.mined(txid);
        expect(lastOf(collection)).toMatchObject({
          actualAmount: amount,
          reason: null,
          transaction: { txid, blockNum, amount },
        });
        expect((await under().merchant.status(collection.orderId)).data?.transaction).toMatchObject({
          txid,
          blockNum,
        });
      }
      const [gone, came] = await transfersTo(replaced.collection);
      expect(gone).toMatchObject({ tx_hash: replaced.txid, state: 'ORPHANED', credited: false });
      expect(came).toMatchObject({
        tx_hash: replacementTxid,
        state: 'VERIFIED',
        credited: true,
        booked: true,
      });
      expect(await incidentsOf(stories)).toEqual([]);
    }

    async function afterSuccess(chain: ChainUnderTest, depth: number): Promise<void> {
      const stories = await threePaid(chain, Math.max(depth, CONFIRMATIONS) - 1);
      const [dropped, moved, replaced] = stories;
      for (const { collection } of stories) await untilLast(collection, PAID);
      const ends = stories.map(({ collection }) => under().receiver.story(collection.orderId));
      if (depth < CONFIRMATIONS) {
        await chain.reorg(depth);
        await chain.mine(CONFIRMATIONS);
        await untilRead(chain);
        for (const { collection, txid } of stories)
          expect(await transfersTo(collection)).toMatchObject([
            { tx_hash: txid, state: 'VERIFIED', credited: true, booked: true },
          ]);
        expect(await incidentsOf(stories)).toEqual([]);
        return;
      }
      const { replacementTxid } = await reorganise(chain, depth, stories);
      await chain.mine(CONFIRMATIONS + 1);
      await untilUnmatched(replaced.collection, 'AFTER_SUCCESS');
      const state = async () =>
        (await Promise.all(stories.map(({ collection }) => transfersTo(collection)))).flat();
      await waitUntil(
        'all transfers are settled',
        async () => {
          const transfers = await state();
          return transfers.every(
            (one) => one.state !== 'DETECTED' && one.booked === (one.state === 'VERIFIED'),
          );
        },
        WAIT_MS,
      );
      expect(await state()).toMatchObject([
        { tx_hash: dropped.txid, state: 'ORPHANED', booked: false, credited: true },
        { tx_hash: moved.txid, state: 'VERIFIED', booked: true, credited: true },
        { tx_hash: replaced.txid, state: 'ORPHANED', booked: false, credited: true },
        { tx_hash: replacementTxid, state: 'VERIFIED', booked: true, credited: false },
      ]);
      // SUCCESS is final: the merchant gets no further callback, and the operator handles the incident.
      expect(stories.map(({ collection }) => under().receiver.story(collection.orderId))).toEqual(ends);
      for (const { collection } of stories) {
        expect(await orderRow(collection)).toMatchObject({
          status: 'SUCCESS',
          actual_amount: chain.baseUnits('USDT', '100'),
        });
      }
      const incidents = await incidentsOf(stories);
      const orders = incidents.map(({ orderId }) => orderId);
      for (const { collection } of [dropped, replaced]) expect(orders).toContain(collection.orderId);
      for (const incident of incidents) {
        expect(incident).toMatchObject({
          kind: 'CREDITED_TRANSFER_ORPHANED',
          chain: chain.chain,
          symbol: 'USDT',
        });
        expect(incident).toMatchObject({ heldChain: chain.chain, heldSymbol: 'USDT', released: null });
      }
    }

    async function incidentsOf(stories: readonly Story[]) {
      const orderIds = stories.map(({ collection }) => collection.orderId);
      return under()
        .database.kysely.selectFrom('incident as i')
        .innerJoin('orders as o', 'o.order_pk', 'i.order_pk')
        .leftJoin('asset_hold as h', 'h.incident_id', 'i.incident_id')
        .select([
          'i.kind',
          'i.chain',
          'i.symbol',
          'o.order_id as orderId',
          'h.chain as heldChain',
          'h.symbol as heldSymbol',
          'h.released_at as released',
        ])
        .where('o.order_id', 'in', orderIds)
        .execute();
    }

    /** Waits until the scanner has verified the block at the crediting depth. */
    async function untilRead(chain: ChainUnderTest): Promise<void> {
      const head = await chain.head();
      await waitUntil(
        'the chain is read',
        async () => {
          const cursor = await under()
            .database.kysely.selectFrom('chain_cursor')
            .select('verified_height')
            .where('chain', '=', chain.chain as EvmDevnetChain)
            .executeTakeFirst();
          return cursor?.verified_height === head - CONFIRMATIONS + 1;
        },
        WAIT_MS,
      );
    }

    it.each(DEPTHS)(
      'of depth %d handle dropped, moved and replaced payments before and after SUCCESS',
      async (depth) => {
        const sides = await Promise.allSettled([beforeSuccess(eth(), depth), afterSuccess(bsc(), depth)]);
        for (const side of sides) if (side.status === 'rejected') throw side.reason;
      },
    );

    it('are detected when the head moves backwards, as behind a load balancer', async () => {
      await eth().mine(APART);
      const collection = await order(eth());
      const snapshot = await takeSnapshot(eth().rpcUrl);
      const txid = await eth().pay({ to: collection.address, amount: '100' });
      const raw = await eth().rawTransaction(txid);
      await eth().mine();
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING]);
      await restoreSnapshot(eth().rpcUrl, snapshot);
      await eth().mine(CONFIRMATIONS + 1);
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING, CREATED]);
      expect(lastOf(collection)).toMatchObject({ reason: 'Reorganised' });
      await callRpc(eth().rpcUrl, 'eth_sendRawTransaction', [raw]);
      await eth().mine(CONFIRMATIONS);
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING, CREATED, CONFIRMING, PAID]);
      expect(lastOf(collection).transaction).toMatchObject({
        txid,
        blockNum: (await eth().mined(txid)).blockNum,
      });
    });
  });
}
