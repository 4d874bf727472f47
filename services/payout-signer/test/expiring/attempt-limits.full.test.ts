import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { keepLease } from '@opentill/db/lease';
import { noteObstacles } from '../../src/store/save-authorised.ts';
import { markUnpayable } from '../../src/store/mark-unpayable.ts';
import { createHiddenAttempts, type HiddenAttempts } from './hidden-attempts.ts';
import { CHAIN } from './tron-world.ts';

let world: HiddenAttempts;
beforeAll(async () => {
  world = await createHiddenAttempts();
});
afterAll(() => world.close());

test('payout keeps waiting for its decision while another obstacle stops the wallet', async () => {
  const driver = await world.start();
  const order = await world.payout();
  expect(await world.untilItWaits(order)).toBe('NEEDS_DECISION');
  await sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by, set_at)
    values (gen_random_uuid(), ${CHAIN}, ${world.wallet}, 'OPERATOR', 'test', 'test', clock_timestamp())`.execute(
    world.admin,
  );
  const other = await world.payout();
  await world.awaitObstacle(other, 'HALTED');
  await driver.stop();
  const key = { chain: CHAIN, wallet: world.wallet } as const;
  for (const obstacle of ['HALTED', 'CLOCKS_DIFFER', 'NO_POLICY'] as const)
    await world.admin
      .transaction()
      .execute((tx) => noteObstacles(tx, key, 1_000, [{ orderPk: order.order_pk, obstacle }]));
  const lease = keepLease({
    db: world.admin,
    schema: 'signer',
    name: `wallet/${CHAIN}/${world.wallet}`,
    holder: 'unpayable',
    ttlMs: 60_000,
  });
  const { orderPks } = await markUnpayable(world.admin, key, (await lease.acquire())!);
  expect(orderPks).toEqual([other.order_pk]);
  await lease.release();
  expect(await world.payoutOf(order)).toMatchObject({ state: 'AUTHORISED', obstacle: 'NEEDS_DECISION' });
  await world.makeOverdue(order);
  expect(await world.expire(order)).toEqual([]);
  await sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'test'`.execute(
    world.admin,
  );
  const next = await world.start();
  await world.payAgain(order);
  await world.until('signed again', order, ({ length }) => length === 3);
  await next.stop();
});

test('payout keeps waiting for its decision when it expires before its attempt', async () => {
  const driver = await world.start();
  const order = await world.payout();
  await world.untilSecondAttempt(order);
  await world.makeOverdue(order);
  expect(await world.untilItWaits(order)).toBe('NEEDS_DECISION');
  expect(await world.expire(order)).toEqual([]);
  await driver.stop();
});

test('ignores a decision made before the last attempt expired', async () => {
  const driver = await world.start();
  const order = await world.payout();
  await world.untilSecondAttempt(order);
  await world.payAgain(order);
  expect(await world.untilItWaits(order)).toBe('NEEDS_DECISION');
  expect(await world.attemptsOf(order)).toHaveLength(2);
  await world.payAgain(order);
  await world.until('signed again', order, ({ length }) => length === 3);
  await driver.stop();
});
