import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '@opentill/db/database';
import { aCollection, aTransfer } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { countUnbooked } from '../src/backup/store/deposits.ts';

let server: TestDatabase;
let admin: Database;
beforeAll(async () => {
  server = await createTestDatabase();
  admin = server.open('admin');
});
afterAll(async () => {
  await admin.close();
  await server.drop();
});

it('counts unbooked transfers page by page', async () => {
  const db = admin.kysely;
  const order = await aCollection(db, { chain: 'BSC_TEST' });
  const transfers = [];
  for (let n = 0; n < 5; n += 1) transfers.push(await aTransfer(db, order, { state: 'VERIFIED' }));
  await aTransfer(db, order, { state: 'DETECTED' });
  await aTransfer(db, await aCollection(db, { chain: 'ETH_SEPOLIA' }), { state: 'VERIFIED' });
  for (const perPage of [1, 2, 7, undefined]) expect(await countUnbooked(db, 'BSC_TEST', perPage)).toBe(5);

  const settle = (transfer_id: number, settled_version: number) =>
    db
      .insertInto('transfer_settlement')
      .values({ transfer_id, settled_version, order_pk: order.order_pk, booked_amount: null, bookings: 0 })
      .execute();
  const [first, second] = transfers;
  await settle(first!.transfer_id, first!.version);
  await settle(second!.transfer_id, second!.version - 1); // the transfer changed after its booking
  for (const perPage of [1, 2, undefined]) expect(await countUnbooked(db, 'BSC_TEST', perPage)).toBe(4);
});
