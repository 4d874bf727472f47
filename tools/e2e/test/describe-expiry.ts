import { describe, expect, it } from 'vitest';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { CONFIRMING, CREATED, EXPIRED, PAID, PENDING, untilStory } from '../src/stories.ts';
import { collectionSteps, CONFIRMATIONS } from './collection-steps.ts';

export function describeExpiry(under: () => GatewayUnderTest<RunningGateway>): void {
  const { order, untilLast, lastOf, transfersTo, untilUnmatched } = collectionSteps(under);
  const bsc = () => under().chains.BSC_TEST;

  describe('expiry by the chain time', () => {
    /** Longer than the steps before the chain's time jumps over it, on any machine. */
    const LIFETIME_SECONDS = 300;

    it('expires unpaid and underpaid orders, but none paid in time and verified late', async () => {
      const expiresIn = (await bsc().secondsAhead()) + LIFETIME_SECONDS;
      const [unpaid, partly, justInTime] = await Promise.all(
        Array.from({ length: 3 }, () => order(bsc(), { expiresIn })),
      );
      await bsc().pay({ to: partly!.address, amount: '40' });
      await untilStory(under().receiver, partly!, [CREATED, PENDING]);
      await bsc().mineByHand();
      await bsc().pay({ to: justInTime!.address, amount: '100' });
      await bsc().mine();
      await bsc().jump(LIFETIME_SECONDS + 1);
      await bsc().mine();
      await bsc().mineByTime();

      await untilStory(under().receiver, unpaid!, [CREATED, EXPIRED]);
      expect(lastOf(unpaid!)).toMatchObject({ actualAmount: null, transaction: null });
      await untilStory(under().receiver, partly!, [CREATED, PENDING, EXPIRED]);
      expect(lastOf(partly!)).toMatchObject({
        reason: 'Underpaid',
        actualAmount: '40.00',
        transaction: { amount: '40.00' },
      });
      await untilStory(under().receiver, justInTime!, [CREATED, CONFIRMING, PAID]);

      const late = await bsc().pay({ to: unpaid!.address, amount: '100' });
      await bsc().pay({ to: partly!.address, amount: '60' });
      await untilStory(under().receiver, unpaid!, [CREATED, EXPIRED, EXPIRED]);
      expect(lastOf(unpaid!)).toMatchObject({
        status: 'EXPIRED',
        reason: 'Paid after expiry',
        actualAmount: '100.00',
        transaction: { txid: late, status: 'SUCCESS' },
      });
      await untilStory(under().receiver, partly!, [CREATED, PENDING, EXPIRED, EXPIRED]);
      expect(lastOf(partly!)).toMatchObject({ reason: 'Paid after expiry', actualAmount: '100.00' });
      await untilUnmatched(unpaid!, 'LATE');
      expect((await transfersTo(partly!)).map(({ reason }) => reason)).toEqual(['UNDERPAID', 'LATE']);
      expect((await under().merchant.getOrderStatus(unpaid!.orderId)).data).toMatchObject({
        status: 'EXPIRED',
        unmatched: [{ reason: 'LATE' }],
      });
    });

    it('credits a payment that was in time before and after a reorganisation', async () => {
      await bsc().mineByHand();
      const collection = await order(bsc(), { expiresIn: (await bsc().secondsAhead()) + LIFETIME_SECONDS });
      const txid = await bsc().pay({ to: collection.address, amount: '100' });
      await bsc().mine();
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING]);
      const raw = await bsc().rawTransaction(txid);
      await bsc().reorg(1);
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING, CREATED]);
      await bsc().jump(LIFETIME_SECONDS + 1);
      await bsc().mine(CONFIRMATIONS + 1);
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING, CREATED, EXPIRED]);
      await bsc().reorg(1, [{ rawTransaction: raw, blockOffset: 0 }]);
      await bsc().mine(CONFIRMATIONS);
      await bsc().mineByTime();
      await untilLast(collection, PAID);
      expect(lastOf(collection)).toMatchObject({
        actualAmount: '100.00',
        reason: null,
        transaction: { txid },
      });
    });
  });
}
