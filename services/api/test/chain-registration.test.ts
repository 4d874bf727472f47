import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '@opentill/db/database';
import { registerChains } from '@opentill/db/registered-chains';
import type { Chain } from '@opentill/domain/chains';
import { aChainCursor, aMerchant } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { COLLECTION, collectionData, startTestApi, TEST_NETWORKS, type TestApi } from './support/test-api.ts';

const merchant = { token: 'token-of-shop-0123456789-0123456789' };
const ACME = { ...TEST_NETWORKS[0]!, chain: 'ACME_L2' as Chain, chainId: 31_337, kind: 'test' } as const;

let testDatabase: TestDatabase;
let admin: Database;
let api: TestApi;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = testDatabase.open('admin');
  await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant });
  await registerChains(admin.kysely, [{ ...ACME, chainId: 31_338 }]);
  for (const chain of ['ETH_SEPOLIA', ACME.chain] as const) await aChainCursor(admin.kysely, { chain });
  api = await startTestApi(testDatabase, { merchant, networks: [...TEST_NETWORKS, ACME], profile: 'local' });
});
afterAll(async () => {
  await api.stop();
  await admin.close();
  await testDatabase.drop();
});

it('takes no order on a chain that the database has with another chain id', async () => {
  expect(await api.post(COLLECTION, collectionData({ chain: ACME.chain }))).toMatchObject({ code: 503 });
  expect(await api.post(COLLECTION, collectionData({ chain: 'ETH_SEPOLIA' }))).toMatchObject({ code: 200 });
  expect(api.logLines().filter(({ level }) => level === 'error')).toMatchObject([
    {
      message: 'chain left out',
      chain: 'ACME_L2',
      error: { code: 'CHAIN_NOT_REGISTERED', message: expect.stringContaining('chain id 31338, not 31337') },
    },
  ]);
});

it('names the chain in its readiness, and is ready for the others', async () => {
  const { checks } = JSON.parse((await api.request('GET', '/readyz')).text) as {
    checks: Record<string, { ok: boolean; detail: string }>;
  };
  expect(checks['registration']).toMatchObject({ ok: true, detail: expect.stringContaining('31338') });
  expect(checks['chains']).toMatchObject({ ok: false });
  expect(checks['chains']!.detail).toContain('ACME_L2 CHAIN_NOT_REGISTERED');
});
