import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { TIMEOUT_MS } from '../world/quick-timing.ts';
import { createSuiWorld, type SuiWorld } from './sui-world.ts';

// The sources gave no bytes for the end of an epoch, so the scan's reading is no proof.

let world: SuiWorld;
let order: OrderRow;
const requested = new Set<string>();
let nodesShowIt = true;
const landed = { txHash: '', address: '' };
beforeAll(async () => {
  world = await createSuiWorld();
  await sql`create function lose_it() returns trigger language plpgsql as 'begin return null; end'`.execute(
    world.admin,
  );
  await sql`create trigger lost before insert on epoch_end for each row execute function lose_it()`.execute(
    world.admin,
  );
  await world.start({
    sender: (sender) => ({
      ...sender,
      async findInBlocks(hashes, ...rest) {
        const answer = await sender.findInBlocks(hashes, ...rest);
        for (const hash of hashes) requested.add(hash);
        return nodesShowIt ? { ...answer, found: new Set(hashes) } : answer;
      },
    }),
  });
  const before = await world.payout();
  await world.land([before]);
  const [settled] = await world.attemptsOf(before);
  Object.assign(landed, { txHash: settled!.tx_hash, address: before.address });
  world.devnet.control.fault({ kind: 'swallow-execute' });
  order = await world.payout({ address: before.address, amount: before.amount });
  await waitUntil('it is sent', async () => (await world.payoutOf(order)).sent, TIMEOUT_MS);
});
afterAll(() => world.close());

const decide = (decision: 'PAID_BY' | 'PAY_AGAIN', txHash: string | null = null) =>
  sql`insert into payout_decision (decision_id, order_pk, decision, tx_hash, operator, reason)
    values (gen_random_uuid(), ${order.order_pk}, ${decision}, ${txHash}, 'test', 'looked')`.execute(
    world.admin,
  );
const nameAttempt = (txHash: string) =>
  sql`update payout_decision set unproven_tx_hash = ${txHash} where decision = 'PAY_AGAIN'`.execute(
    world.admin,
  );
const outcomes = async () => {
  const { rows } = await sql<{ outcome: string | null }>`
    select outcome from payout_decision where order_pk = ${order.order_pk} order by decided_at`.execute(
    world.admin,
  );
  return rows.map(({ outcome }) => outcome);
};

test('keeps the attempt open after a refused PAID_BY', async () => {
  const { rows } = await sql<{ last: number }>`
    select last_epoch as last from payout_attempt where order_pk = ${order.order_pk}`.execute(world.admin);
  for (let { epoch } = world.devnet.control.summary(); epoch <= rows[0]!.last; epoch += 1)
    await world.passEpoch();
  await decide('PAID_BY', landed.txHash);
  await waitUntil('answered', async () => (await outcomes())[0] === 'NOT_POSSIBLE', TIMEOUT_MS);
  expect(await world.attemptsOf(order)).toMatchObject([{ state: 'OPEN', fate: null }]);
});

test("accepts a decision instead of the scan's proof, but still asks the nodes", async () => {
  const [attempt] = await world.attemptsOf(order);
  await sql`update payout set expires_at = now() - interval '1 hour' where order_pk = ${order.order_pk}`.execute(
    world.admin,
  );
  await decide('PAY_AGAIN');
  const next = await world.payout();
  await waitUntil('the next one is sent', async () => (await world.payoutOf(next)).sent, TIMEOUT_MS);
  // The decision names another attempt. The signer handles expired attempts before it signs the next one.
  expect([...requested]).toEqual([]);
  const ofNext = (await world.attemptsOf(next))[0]!.tx_hash;
  await expect(nameAttempt(ofNext)).rejects.toThrow(/not an open attempt that has expired/);
  await nameAttempt(attempt!.tx_hash);
  await waitUntil('the nodes are requested', () => requested.has(attempt!.tx_hash), TIMEOUT_MS);
  expect(await world.attemptsOf(order)).toMatchObject([{ state: 'OPEN' }]);
  nodesShowIt = false;
  await world.until('signed anew', order, ({ length }) => length === 2);
  expect((await world.attemptsOf(order))[0]).toMatchObject({ state: 'DEAD', fate: null });
  expect(await outcomes()).toEqual(['NOT_POSSIBLE', 'DONE']);
  world.devnet.control.clearFaults();
  await world.land([order, next]);
  // An earlier payout paid the same address.
  expect(await world.received(order)).toBe(2n * order.amount);
});
