import { afterAll, beforeAll, expect, it } from 'vitest';
import type { MerchantSettings } from '@opentill/db/merchants';
import { aChainCursor, aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { findAddressProblems } from './support/find-address-problems.ts';
import { NO_LIMITS, startTestApi, type TestApi } from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let merchant: MerchantSettings;
let replicas: readonly TestApi[];

beforeAll(async () => {
  merchant = await aMerchant(admin.kysely, { merchantId: 'v3', rateLimits: NO_LIMITS });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  replicas = await Promise.all(
    [1, 2].map(() => startTestApi(testDatabase, { merchant, addressesReady: 32_768 })),
  );
});
afterAll(() => Promise.all(replicas.map((api) => api.stop())));

it('gives 5,000 orders of two replicas distinct addresses of the seed', async () => {
  expect(await findAddressProblems(admin.kysely, replicas, merchant, 5_000)).toEqual([]);
});
