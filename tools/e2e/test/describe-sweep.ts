import { expect, it } from 'vitest';
import type { NotifyCollect } from '@opentill/contracts/notify-collect';
import type { Chain } from '@opentill/domain/chains';
import { waitUntil } from '@opentill/testkit/wait-until';
import { runOpentill } from '../src/run-opentill.ts';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { WAIT_MS } from '../src/time-limits.ts';

const COLD_ADDRESS = '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720';

/** Requests a sweep. Call `describeItsEnd` after other tests: a sweep needs two confirmed transactions. */
export function describeSweep(under: () => GatewayUnderTest<RunningGateway>): {
  readonly describeItsEnd: () => void;
} {
  const bsc = () => under().chains.BSC_TEST;
  let swept: { readonly address: string } | undefined;

  it('accepts a sweep run requested by an operator', async () => {
    swept = await under()
      .database.kysely.selectFrom('deposit_balance as b')
      .innerJoin('orders as o', 'o.order_pk', 'b.order_pk')
      .select('b.address')
      .where('b.chain', '=', bsc().chain as Chain)
      .where('b.symbol', '=', 'USDT')
      .where('o.status', '=', 'SUCCESS')
      .orderBy('b.received', 'desc')
      .executeTakeFirstOrThrow();
    const asked = ['sweep', 'run', '--chain', bsc().chain, '--reason', 'the end of the day'];
    expect(await runOpentill(under().gateway, asked)).toMatchObject({ code: 0, errors: '' });
  });

  return {
    describeItsEnd() {
      it('sweeps a deposit to cold storage with a callback', async () => {
        const { address } = swept!;
        const collects = () =>
          under().receiver.received.flatMap(({ notifyType, data }) => {
            const collect = data as unknown as NotifyCollect;
            const isIt =
              notifyType === 'COLLECT_SUCCESS' && collect.transaction?.from.toLowerCase() === address;
            return isIt ? [collect] : [];
          });
        await waitUntil('COLLECT_SUCCESS arrives', () => Promise.resolve(collects().length > 0), WAIT_MS);
        // The sweep may include later deposits to the address.
        const { amount } = await under()
          .database.kysely.selectFrom('deposit_balance')
          .select('swept as amount')
          .where('address', '=', address)
          .where('symbol', '=', 'USDT')
          .executeTakeFirstOrThrow();
        const shown = collects()[0]!.collectAmount;
        const reported = collects().reduce(
          (sum, { collectAmount }) => sum + bsc().baseUnits('USDT', collectAmount),
          0n,
        );
        expect(reported).toBe(amount);
        expect(collects()[0]).toEqual({
          collectAmount: shown,
          fee: '0',
          feeRatio: '0',
          reason: null,
          transaction: expect.objectContaining({
            chain: bsc().chain,
            symbol: 'USDT',
            amount: shown,
            to: COLD_ADDRESS,
            status: 'SUCCESS',
          }),
        });
        expect(await bsc().balance('USDT', address)).toBe(0n);
        expect(await bsc().balance('USDT', COLD_ADDRESS)).toBeGreaterThanOrEqual(amount);
      });
    },
  };
}
