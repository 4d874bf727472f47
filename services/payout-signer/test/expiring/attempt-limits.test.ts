import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { createHiddenAttempts, type HiddenAttempts } from './hidden-attempts.ts';
import { ONE_USDT } from './tron-world.ts';

// Both sources hide landed transactions from the scanner and from the proof of expiry, so each attempt pays. The limits
// per time and the attempts without an operator bound the loss.

let world: HiddenAttempts;
beforeAll(async () => {
  world = await createHiddenAttempts();
});
afterAll(() => world.close());

test("delivers at most a day's limit after false proofs of expiry", async () => {
  // One payment per attempt.
  const driver = await world.start({ maxPerDay: '10' }, { maxAttemptsWithoutDecision: 100 });
  const order = await world.payout();
  expect(await world.untilItWaits(order)).toBe('POLICY_REFUSES');
  expect(await world.attemptsOf(order)).toMatchObject([{ state: 'DEAD' }, { state: 'DEAD' }]);
  expect(await world.received(order)).toBe(10n * ONE_USDT);
  await driver.stop();
  await sql`update payout set state = 'REFUSED', reason = 'over' where state = 'AUTHORISED'`.execute(
    world.admin,
  );
  await sql`update own_transaction set signed_at = signed_at - interval '2 days'`.execute(world.admin);
});

test('waits for a decision before each attempt after the second', async () => {
  const driver = await world.start();
  const order = await world.payout();
  expect(await world.untilItWaits(order)).toBe('NEEDS_DECISION');
  expect(await world.attemptsOf(order)).toMatchObject([{ state: 'DEAD' }, { state: 'DEAD' }]);
  await world.makeOverdue(order);
  expect(await world.expire(order)).toEqual([]);
  await world.payAgain(order);
  await world.until('signed again', order, ({ length }) => length === 3);
  expect(await world.untilItWaits(order)).toBe('NEEDS_DECISION');
  expect(await world.attemptsOf(order)).toHaveLength(3);
  await driver.stop();
});
