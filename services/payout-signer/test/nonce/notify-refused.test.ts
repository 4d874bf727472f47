import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { keepLease, type Lease } from '@opentill/db/lease';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { PayoutStore } from '../../src/nonce/store/payout-store.ts';
import { createPayoutStore } from '../../src/nonce/store/create-store.ts';
import { CHAIN, createStaticChainWorld, type StaticChainWorld } from './static-chain-world.ts';

let world: StaticChainWorld;
let signer: Database;
let store: PayoutStore;
let lease: Lease;
beforeAll(async () => {
  world = await createStaticChainWorld();
  signer = world.open('signer');
  const db = signer.kysely;
  store = createPayoutStore(db, { chain: CHAIN, wallet: world.wallet }, { newId, clock: systemClock });
  const name = 'wallet/tell-refused';
  lease = (await keepLease({ db, schema: 'signer', name, holder: 'test', ttlMs: 600_000 }).acquire())!;
});
afterAll(async () => {
  await signer.close();
  await world.close();
});

async function lastId(): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    select case when is_called then last_value else 0 end::int as id from signer.outbox_id_seq`.execute(
    world.admin,
  );
  return rows[0]?.id;
}

test('notifies the tracker only of refused payouts, after their rows are locked', async () => {
  const [order, ended] = [await world.payout(), await world.payout()];
  const reason = 'Limit per day exceeded';
  const decisions = {
    authorised: [],
    needApproval: [],
    stillNeedApproval: [],
    heldBack: [],
    refused: [order, ended].map(({ order_pk: orderPk }) => ({ orderPk, reason })),
    obstacles: [],
  };
  await sql`update payout set state = 'EXPIRED', reason = 'Payout expired' where order_pk = ${ended.order_pk}`.execute(
    world.admin,
  );
  const before = await lastId();
  const { refusing } = await world.admin.transaction().execute(async (tx) => {
    await sql`select from payout where order_pk = ${order.order_pk} for update`.execute(tx);
    const authorising = store.authorise(lease, 0, () => decisions);
    await waitUntil('it waits for the row', async () => {
      const { rows } = await sql`select from pg_stat_activity where datname = current_database()
        and usename = 'opentill_signer' and wait_event_type = 'Lock'`.execute(world.admin);
      return rows.length > 0;
    });
    // Ids are assigned at insert. A concurrent notification about this payout must come first.
    expect(await lastId()).toBe(before);
    return { refusing: authorising };
  });
  expect(await refusing).toEqual([]);
  const { rows: notified } = await sql<{ payload: string }>`select payload from signer.outbox`.execute(
    world.admin,
  );
  expect(notified.map(({ payload }) => (JSON.parse(payload) as { data: unknown }).data)).toEqual([
    { orderPks: [order.order_pk] },
  ]);
});
