import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '@opentill/db/database';
import type { MerchantSettings } from '@opentill/db/merchants';
import { aChainCursor, aMerchant } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { findAddressProblems } from './support/find-address-problems.ts';
import { NO_LIMITS, startTestApi, type TestApi } from './support/test-api.ts';

let testDatabase: TestDatabase;
let admin: Database;
let merchant: MerchantSettings;
let replicas: readonly TestApi[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = testDatabase.open('admin');
  merchant = await aMerchant(admin.kysely, { merchantId: 'v3', rateLimits: NO_LIMITS });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  replicas = await Promise.all(
    [1, 2].map(() => startTestApi(testDatabase, { merchant, addressesReady: 32_768 })),
  );
});
afterAll(async () => {
  await Promise.all(replicas.map((api) => api.stop()));
  await admin.close();
  await testDatabase.drop();
});

it('gives 5,000 orders of two replicas distinct addresses of the seed', async () => {
  expect(await findAddressProblems(admin.kysely, replicas, merchant, 5_000)).toEqual([]);
});
