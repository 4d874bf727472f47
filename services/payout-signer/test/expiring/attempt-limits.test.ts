import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { tronFamily } from '@opentill/chain-tron/family';
import { keepLease } from '@opentill/db/lease';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { parsePolicy } from '@opentill/wallet/policy/parse-policy';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import { noteObstacles } from '../../src/store/save-authorised.ts';
import { markUnpayable } from '../../src/store/mark-unpayable.ts';
import { PATIENCE_MS } from '../world/quick-timing.ts';
import { CHAIN, createTronWorld, ONE_USDT, type TronWorld } from './tron-world.ts';

/*
 * Both sources hide from the scanner and from the proof of death what landed: each proof is false, and each attempt is a payment. What the
 * receiver gets is then bounded by the limits per time and by the attempts that need no operator.
 */

let world: TronWorld;
beforeAll(async () => {
  world = await createTronWorld({ expirationSeconds: 30 });
  await sql`create function hide_it() returns trigger language plpgsql as 'begin return null; end'`.execute(
    world.admin,
  );
  await sql`create trigger hidden before insert on own_transaction_fate for each row execute function hide_it()`.execute(
    world.admin,
  );
});
afterAll(() => world.close());

const HIGH = '1000000';
function policyOf(limits: Readonly<Record<string, string>>, more: object = {}): PolicyJudge {
  const asset = {
    maxPerPayout: HIGH,
    maxPerHour: HIGH,
    maxPerDay: HIGH,
    maxPerMerchantPerDay: HIGH,
    ...limits,
  };
  const policy = { version: 1, chains: { [CHAIN]: { enabled: true, assets: { USDT: asset } } }, ...more };
  const known = { networks: [world.network], codecs: [tronFamily.addressCodec] };
  return judgeByPolicy(parsePolicy(JSON.stringify(policy), known));
}

const start = (policy: PolicyJudge) =>
  world.start({
    policy,
    sender: (sender) => ({
      ...sender,
      findInBlocks: async (...given) => ({ ...(await sender.findInBlocks(...given)), found: new Set() }),
    }),
  });

/** Lets attempt after attempt land and be called dead, until the payout waits for something. @returns for what */
async function untilItWaits(order: OrderRow): Promise<string | null> {
  const obstacle = async () => {
    const { state, obstacle: found } = await world.payoutOf(order);
    return state === 'AUTHORISED' ? found : null;
  };
  await waitUntil(
    'it waits',
    async () => {
      if ((await obstacle()) !== null) return true;
      await world.mine(5);
      return false;
    },
    2 * PATIENCE_MS,
  );
  return obstacle();
}

test('false proofs of death deliver no more than the limit of a day', async () => {
  // Once for each attempt, however many may be made without an operator.
  const driver = await start(policyOf({ maxPerDay: '10' }, { maxAttemptsWithoutDecision: 100 }));
  const order = await world.payout();
  expect(await untilItWaits(order)).toBe('POLICY_REFUSES');
  expect(await world.attemptsOf(order)).toMatchObject([{ state: 'DEAD' }, { state: 'DEAD' }]);
  expect(await world.received(order)).toBe(10n * ONE_USDT);
  await driver.stop();
  await sql`update payout set state = 'REFUSED', reason = 'over' where state = 'AUTHORISED'`.execute(
    world.admin,
  );
  await sql`update own_transaction set signed_at = signed_at - interval '2 days'`.execute(world.admin);
});

const makeOverdue = (order: OrderRow) =>
  sql`update payout set expires_at = now() - interval '1 hour' where order_pk = ${order.order_pk}`.execute(
    world.admin,
  );
const expire = async (order: OrderRow) =>
  (await sql`select expire_payouts(array[${order.order_pk}]::uuid[])`.execute(world.admin)).rows;
const payAgain = (order: OrderRow) =>
  sql`insert into payout_decision (decision_id, order_pk, decision, operator, reason)
    values (gen_random_uuid(), ${order.order_pk}, 'PAY_AGAIN', 'test', 'looked')`.execute(world.admin);
/** The second attempt can land yet, and the first one is dead. */
const untilSecondAttempt = (order: OrderRow) =>
  waitUntil(
    'signed twice',
    async () => {
      if ((await world.attemptsOf(order)).length === 2) return true;
      await world.mine(5);
      return false;
    },
    2 * PATIENCE_MS,
  );

test('needs a decision for each attempt after the second, and waits for it', async () => {
  const driver = await start(policyOf({}));
  const order = await world.payout();
  expect(await untilItWaits(order)).toBe('NEEDS_DECISION');
  expect(await world.attemptsOf(order)).toMatchObject([{ state: 'DEAD' }, { state: 'DEAD' }]);
  await makeOverdue(order);
  expect(await expire(order)).toEqual([]);
  await payAgain(order);
  await world.until('signed again', order, ({ length }) => length === 3);
  expect(await untilItWaits(order)).toBe('NEEDS_DECISION');
  expect(await world.attemptsOf(order)).toHaveLength(3);
  await driver.stop();
});

test('goes on waiting for its decision while something else stops the wallet too', async () => {
  const driver = await start(policyOf({}));
  const order = await world.payout();
  expect(await untilItWaits(order)).toBe('NEEDS_DECISION');
  await sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by, set_at)
    values (gen_random_uuid(), ${CHAIN}, ${world.wallet}, 'OPERATOR', 'test', 'test', clock_timestamp())`.execute(
    world.admin,
  );
  const other = await world.payout();
  await waitUntil('halted', async () => (await world.payoutOf(other)).obstacle === 'HALTED', PATIENCE_MS);
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
  await makeOverdue(order);
  expect(await expire(order)).toEqual([]);
  await sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'test'`.execute(
    world.admin,
  );
  const next = await start(policyOf({}));
  await payAgain(order);
  await world.until('signed again', order, ({ length }) => length === 3);
  await next.stop();
});

test('waits for its decision too when its time is over before its last attempt is dead', async () => {
  const driver = await start(policyOf({}));
  const order = await world.payout();
  await untilSecondAttempt(order);
  await makeOverdue(order);
  expect(await untilItWaits(order)).toBe('NEEDS_DECISION');
  expect(await expire(order)).toEqual([]);
  await driver.stop();
});

test('a decision from before the death of the last attempt allows no other attempt', async () => {
  const driver = await start(policyOf({}));
  const order = await world.payout();
  await untilSecondAttempt(order);
  await payAgain(order);
  expect(await untilItWaits(order)).toBe('NEEDS_DECISION');
  expect(await world.attemptsOf(order)).toHaveLength(2);
  await payAgain(order);
  await world.until('signed again', order, ({ length }) => length === 3);
  await driver.stop();
});
