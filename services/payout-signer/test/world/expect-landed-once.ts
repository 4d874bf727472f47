import { expect } from 'vitest';
import type { OrderRow } from '@opentill/testkit/scenario';
import type { SuiWorld } from '../sui/sui-world.ts';
import type { TronWorld } from '../expiring/tron-world.ts';

type World = Pick<SuiWorld | TronWorld, 'land' | 'received' | 'attemptsOf' | 'payoutOf'>;

export async function expectLandedOnce(
  world: World,
  orders: readonly OrderRow[],
  attempts = 1,
): Promise<void> {
  await world.land(orders);
  for (const order of orders) {
    expect(await world.received(order)).toBe(order.amount);
    const tried = await world.attemptsOf(order);
    expect(tried.map(({ state }) => state)).toEqual([
      ...Array.from({ length: attempts - 1 }, () => 'DEAD'),
      'SETTLED',
    ]);
    expect(tried.at(-1)).toMatchObject({ fate: 'VERIFIED', succeeded: true });
    expect(await world.payoutOf(order)).toEqual({
      state: 'SIGNED',
      obstacle: null,
      reason: null,
      sent: true,
    });
  }
}
