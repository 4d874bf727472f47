import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { createHiddenAttempts, type HiddenAttempts } from './hidden-attempts.ts';
import { ONE_USDT } from './tron-world.ts';

/*
 * Both sources hide from the scanner and from the proof of death what landed: each proof is false, and each attempt is a payment. What the
 * receiver gets is then bounded by the limits per time and by the attempts that need no operator.
 */

let world: HiddenAttempts;
beforeAll(async () => {
  world = await createHiddenAttempts();
});
afterAll(() => world.close());

test('false proofs of death deliver no more than the limit of a day', async () => {
  // Once for each attempt, however many may be made without an operator.
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

test('needs a decision for each attempt after the second, and waits for it', async () => {
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

test('a decision from before the death of the last attempt allows no other attempt', async () => {
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
