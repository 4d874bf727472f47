import { beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { TxHash } from '@opentill/chain/transfer';
import { keepLease } from '@opentill/db/lease';
import { anOwnTransaction, aReservedPayout } from '@opentill/testkit/payout-scenario';
import { anEvmAddress, type OrderRow } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { markAttemptsDead } from '../../src/expiring/store/mark-dead.ts';
import { markUnpayable } from '../../src/store/mark-unpayable.ts';
import { noteObstacles } from '../../src/store/save-authorised.ts';

const wallet = anEvmAddress() as Address;
const key = { chain: 'TRON_TEST', wallet } as const;
/** Time of the two newest verified blocks. An attempt that expires at this time has expired. */
const VERIFIED_MS = 1_800_000_000_000;

const { admin, open } = await openTestDatabase();
const signer = open('signer');
beforeAll(async () => {
  await sql`insert into block (chain, height, hash, parent_hash, block_time)
    select ${key.chain}, h, 'b' || h, 'b' || (h - 1), to_timestamp(${VERIFIED_MS / 1_000})
    from generate_series(101, 102) as s (h)`.execute(admin.kysely);
  await sql`insert into chain_cursor (chain, family, head_height, head_hash, head_time, finalized_height, seen_height,
      seen_hash, verified_height, verified_hash, verified_time, fencing_token)
    values (${key.chain}, 'TRON', 102, 'b102', now(), 102, 102, 'b102', 102, 'b102', now(), 1)`.execute(
    admin.kysely,
  );
});

async function authorised(): Promise<OrderRow> {
  const order = await aReservedPayout(admin.kysely, {
    chain: key.chain,
    family: 'TRON',
    source_address: wallet,
  });
  await sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${order.order_pk}`.execute(
    admin.kysely,
  );
  return order;
}

/** Adds an expired attempt and marks it dead; another one needs a decision. Returns the payouts that wait for one. */
async function loseAttempt(order: OrderRow): Promise<readonly string[]> {
  const { order_pk: orderPk } = order;
  const { tx_hash: txHash } = await anOwnTransaction(admin.kysely, order, { nonce: null });
  await sql`insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height,
      reference_hash)
    select ${key.chain}, ${txHash}, ${wallet}, ${orderPk}, count(*) + 1, ${VERIFIED_MS}, 1, 'b1' from payout_attempt`.execute(
    admin.kysely,
  );
  await sql`update payout set state = 'SIGNED' where order_pk = ${orderPk}`.execute(admin.kysely);
  const { dead, waiting } = await signer.kysely
    .transaction()
    .execute((tx) => markAttemptsDead(tx, key, 1, [txHash as TxHash], { height: 102, hash: 'b102' }, 1));
  expect(dead).toEqual([txHash]);
  return waiting;
}

const makeOverdue = ({ order_pk: orderPk }: OrderRow) =>
  sql`update payout set expires_at = now() - interval '1 hour' where order_pk = ${orderPk}`.execute(
    admin.kysely,
  );
const expire = async ({ order_pk: orderPk }: OrderRow) =>
  (await sql`select expire_payouts(array[${orderPk}]::uuid[])`.execute(admin.kysely)).rows;
async function stateOf({ order_pk: orderPk }: OrderRow) {
  const { rows } = await sql`select state, obstacle from payout where order_pk = ${orderPk}`.execute(
    admin.kysely,
  );
  return rows[0];
}
const WAITS = { state: 'AUTHORISED', obstacle: 'NEEDS_DECISION' };

test('keeps NEEDS_DECISION until a decision, whatever obstacle occurs meanwhile', async () => {
  const [order, other] = [await authorised(), await authorised()];
  expect(await loseAttempt(order)).toEqual([order.order_pk]);
  const note = (obstacle: 'HALTED' | 'CLOCKS_DIFFER' | 'NO_POLICY') =>
    signer.kysely.transaction().execute((tx) =>
      noteObstacles(
        tx,
        key,
        1,
        [order, other].map(({ order_pk: orderPk }) => ({ orderPk, obstacle })),
      ),
    );
  for (const obstacle of ['HALTED', 'CLOCKS_DIFFER', 'NO_POLICY'] as const) {
    await note(obstacle);
    expect(await stateOf(order)).toEqual(WAITS);
    expect(await stateOf(other)).toEqual({ state: 'AUTHORISED', obstacle });
  }
  const lease = keepLease({
    db: signer.kysely,
    schema: 'signer',
    name: 'wallet',
    holder: 'test',
    ttlMs: 60_000,
  });
  const { orderPks } = await markUnpayable(signer.kysely, key, (await lease.acquire())!);
  expect(orderPks).toEqual([other.order_pk]);
  for (const one of [order, other]) await makeOverdue(one);
  expect(await expire(order)).toEqual([]);
  expect(await expire(other)).toHaveLength(1);
  expect(await stateOf(order)).toEqual(WAITS);

  await sql`insert into payout_decision (decision_id, order_pk, decision, operator, reason)
    values (gen_random_uuid(), ${order.order_pk}, 'PAY_AGAIN', 'test', 'checked')`.execute(admin.kysely);
  await note('HALTED');
  expect(await stateOf(order)).toEqual({ state: 'AUTHORISED', obstacle: 'HALTED' });
  expect(await expire(order)).toEqual([]);
});

test('waits for a decision when a payout expires before its last attempt is dead', async () => {
  const order = await authorised();
  await makeOverdue(order);
  expect(await loseAttempt(order)).toEqual([order.order_pk]);
  expect(await stateOf(order)).toEqual(WAITS);
  expect(await expire(order)).toEqual([]);
});
