import { expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { aReservedPayout, aSignedPayout } from '@opentill/testkit/payout-scenario';
import { anEvmAddress, type OrderRow } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startMarkingUnpayable } from '../src/wallet/mark-unpayable.ts';
import type { Observe } from '../src/observe/observe.ts';
import type { NonceUpdates } from '../src/nonce/store/payout-store.ts';
import { markUnpayable, refuseUnpayable } from '../src/store/mark-unpayable.ts';

const wallet = anEvmAddress() as Address;
const key = { chain: 'ETH_SEPOLIA', wallet } as const;

const { admin, open } = await openTestDatabase();
const signer = open('signer');

const reserved = (overrides: Parameters<typeof aReservedPayout>[1] = {}) =>
  aReservedPayout(admin.kysely, { source_address: wallet, ...overrides });
const set = (order: OrderRow, change: string, db: Db = admin.kysely) =>
  sql`update payout set ${sql.raw(change)} where order_pk = ${order.order_pk}`.execute(db);
async function rowOf(order: OrderRow) {
  const { rows } = await sql<{ state: string; obstacle: string | null; waits: boolean }>`
    select state, obstacle, waiting_since is not null as waits from payout where order_pk = ${order.order_pk}`.execute(
    admin.kysely,
  );
  return rows[0];
}
async function markDoubtful(order: OrderRow): Promise<void> {
  await sql`insert into restoration (restore_id, backup_id, taken_at)
    select gen_random_uuid(), 'b', now() where not exists (select from restoration)`.execute(admin.kysely);
  await sql`insert into doubtful_payout (order_pk, restore_id)
    select ${order.order_pk}, restore_id from restoration`.execute(admin.kysely);
  await set(order, `obstacle = 'MAYBE_PAID', obstacle_at = now(), waiting_since = now()`);
}
function start(): { stop(): Promise<void>; blocked: string[]; vetoed: string[]; woken: string[] } {
  const blocked: string[] = [];
  const vetoed: string[] = [];
  const woken: string[] = [];
  const logger = createLogger({ service: 'payout-signer', level: 'silent' });
  const observe = {
    blocked: (_key: unknown, orderPk: string) => void blocked.push(orderPk),
    externalUpdatesApplied: (_key: unknown, taken: NonceUpdates) => void vetoed.push(...taken.vetoedOrderPks),
    passFailed: (_key: unknown, error: unknown) => expect(error).toBeUndefined(),
  } as unknown as Observe;
  const loop = startMarkingUnpayable({
    db: signer.kysely,
    logger,
    observe,
    key,
    instanceId: 'test',
    leaseTtlMs: 300,
    onCommitted: () => void woken.push('relay'),
    newId,
    clock: systemClock,
  });
  return { stop: () => loop.stop(), blocked, vetoed, woken };
}

const NOT_CONFIGURED = 'PAYOUTS_NOT_CONFIGURED';

test('marks payouts without a signer and expires them, also those waiting for approval', async () => {
  const [fresh, waiting, authorised, held] = [
    await reserved(),
    await reserved(),
    await reserved(),
    await reserved(),
  ];
  await set(waiting, `obstacle = 'NEEDS_APPROVAL', obstacle_at = now(), waiting_since = now()`);
  await set(authorised, `state = 'AUTHORISED', authorised_at = now()`);
  await sql`insert into wallet_nonce (chain, wallet, nonce, state, order_pk)
    values (${key.chain}, ${wallet}, 0, 'RESERVED', ${authorised.order_pk})`.execute(admin.kysely);
  await set(held, `obstacle = 'HALTED', obstacle_at = now()`);
  const doubtful = await reserved();
  await markDoubtful(doubtful);
  const elsewhere = await reserved({ source_address: anEvmAddress() });
  const { order: signed } = await aSignedPayout(admin.kysely, { source_address: wallet });

  const marking = start();
  await waitUntil('marked', async () => (await rowOf(authorised))?.obstacle === NOT_CONFIGURED);
  for (const order of [fresh, waiting, held])
    expect(await rowOf(order)).toEqual({ state: 'REQUESTED', obstacle: NOT_CONFIGURED, waits: false });
  expect(await rowOf(doubtful)).toEqual({ state: 'REQUESTED', obstacle: 'MAYBE_PAID', waits: true });
  expect(await rowOf(elsewhere)).toMatchObject({ obstacle: null });
  expect(await rowOf(signed)).toMatchObject({ state: 'SIGNED', obstacle: null });
  const { rows: nonces } = await sql`select order_pk from wallet_nonce where state = 'RESERVED'`.execute(
    admin.kysely,
  );
  expect(nonces).toEqual([{ order_pk: null }]);
  const late = await reserved();
  await waitUntil('marked as well', async () => (await rowOf(late))?.obstacle === NOT_CONFIGURED);
  const all = [fresh, waiting, authorised, held, late];
  // The signer reports it after the commit, which other connections see earlier.
  await marking.stop();
  expect(marking.blocked.toSorted()).toEqual(all.map(({ order_pk: orderPk }) => orderPk).toSorted());

  const expired = async () => {
    const { rows } = await sql`
      select * from expire_payouts(${all.map(({ order_pk: pk }) => pk)}::uuid[])`.execute(admin.kysely);
    return rows.length;
  };
  for (const order of all) await set(order, `expires_at = clock_timestamp() - interval '1 second'`);
  let ended = 0;
  await waitUntil('their time is up', async () => (ended += await expired()) === all.length);
  expect(await rowOf(waiting)).toMatchObject({ state: 'EXPIRED', obstacle: NOT_CONFIGURED });
});

test("ends or continues a possibly paid payout after the operator's decision", async () => {
  const [toPay, toRefuse, open] = [await reserved(), await reserved(), await reserved()];
  for (const order of [toPay, toRefuse, open]) await markDoubtful(order);
  const marking = start();
  const decide = (db: Db, order: OrderRow, decision: string) =>
    sql`update doubtful_payout set decision = ${decision}, decided_by = 'alice', decided_reason = 'looked',
      decided_at = clock_timestamp() where order_pk = ${order.order_pk}`.execute(db);
  // Otherwise the loop could mark it between the two statements and stop its expiry.
  await admin.kysely.transaction().execute(async (tx) => {
    await decide(tx, toPay, 'PAY');
    await set(toPay, `waiting_since = clock_timestamp()`, tx);
  });
  await admin.kysely.transaction().execute(async (tx) => {
    await decide(tx, toRefuse, 'REFUSE');
    await sql`insert into payout_veto (order_pk, operator, reason)
      values (${toRefuse.order_pk}, 'alice', 'looked')`.execute(tx);
  });
  await waitUntil('marked', async () => (await rowOf(toPay))?.obstacle === NOT_CONFIGURED);
  await waitUntil('refused', async () => (await rowOf(toRefuse))?.state === 'REFUSED');
  const { rows: notified } = await sql<{ payload: string }>`select payload from signer.outbox`.execute(
    admin.kysely,
  );
  expect(notified.map(({ payload }) => (JSON.parse(payload) as { data: unknown }).data)).toEqual([
    { orderPks: [toRefuse.order_pk] },
  ]);
  await set(toPay, `expires_at = clock_timestamp() - interval '1 second'`);
  await waitUntil('ended', async () => {
    await sql`select expire_payouts(array[${toPay.order_pk}::uuid])`.execute(admin.kysely);
    return (await rowOf(toPay))?.state === 'EXPIRED';
  });
  expect(await rowOf(open)).toEqual({ state: 'REQUESTED', obstacle: 'MAYBE_PAID', waits: true });
  await marking.stop();
  expect(marking.vetoed).toEqual([toRefuse.order_pk]);
  expect(marking.woken).toEqual(['relay']);
  // A payout that is refused during a round is marked first and refused in the next.
  expect(marking.blocked.filter((orderPk) => orderPk !== toRefuse.order_pk)).toEqual([toPay.order_pk]);
});

test("does not write after it lost the wallet's lease", async () => {
  const lease = (holder: string) =>
    keepLease({ db: signer.kysely, schema: 'signer', name: `wallet/${wallet}`, holder, ttlMs: 60_000 });
  const [before, after] = [lease('before'), lease('after')];
  const lost = await before.acquire();
  await before.release();
  expect(await after.acquire()).toBeDefined();
  const order = await reserved();
  await expect(markUnpayable(signer.kysely, key, lost!)).rejects.toMatchObject({ code: 'LEASE_LOST' });
  const vetoed = await reserved();
  await sql`insert into payout_veto (order_pk, operator, reason) values (${vetoed.order_pk}, 'alice', 'no')`.execute(
    admin.kysely,
  );
  const deps = { newId, clock: systemClock };
  await expect(refuseUnpayable(signer.kysely, key, lost!, deps)).rejects.toMatchObject({
    code: 'LEASE_LOST',
  });
  expect(await refuseUnpayable(signer.kysely, key, after.current()!, deps)).toEqual([vetoed.order_pk]);
  expect(await rowOf(order)).toMatchObject({ obstacle: null });
  expect(await markUnpayable(signer.kysely, key, after.current()!)).toEqual({
    orderPks: [order.order_pk],
    isAll: true,
  });
});
