import { afterAll, beforeAll, expect, it } from 'vitest';
import { registerChains } from '@opentill/db/registered-chains';
import type { Chain } from '@opentill/domain/chains';
import { aChainCursor, aMerchant } from '@opentill/testkit/scenario';
import { startTcpProxy } from '@opentill/testkit/tcp-proxy';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { COLLECTION, collectionData, startTestApi, TEST_NETWORKS, type TestApi } from './support/test-api.ts';

const merchant = { token: 'token-of-shop-0123456789-0123456789' };
const ACME = { ...TEST_NETWORKS[0]!, chain: 'ACME_L2' as Chain, chainId: 31_337, kind: 'test' } as const;
const LEFT_OUT = {
  message: 'chain left out',
  chain: 'ACME_L2',
  error: { code: 'CHAIN_NOT_REGISTERED', message: expect.stringContaining('chain id 31338, not 31337') },
};
const errorsOf = (one: TestApi) => one.logLines().filter(({ level }) => level === 'error');

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;

beforeAll(async () => {
  await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant });
  await registerChains(admin.kysely, [{ ...ACME, chainId: 31_338 }]);
  for (const chain of ['ETH_SEPOLIA', ACME.chain] as const) await aChainCursor(admin.kysely, { chain });
  api = await startTestApi(testDatabase, { merchant, networks: [...TEST_NETWORKS, ACME], profile: 'local' });
});
afterAll(() => api.stop());

it('takes no order on a chain that the database has with another chain id', async () => {
  expect(await api.post(COLLECTION, collectionData({ chain: ACME.chain }))).toMatchObject({
    status: 503,
    msg: 'Chain not ready',
  });
  expect(await api.post(COLLECTION, collectionData({ chain: 'ETH_SEPOLIA' }))).toMatchObject({ status: 200 });
  await waitUntil('the reason is logged', () => errorsOf(api).length > 0);
  expect(errorsOf(api)).toMatchObject([LEFT_OUT]);
});

it('names the chain in its readiness', async () => {
  const { status, text } = await api.request('GET', '/readyz');
  expect(status).toBe(503);
  const { checks } = JSON.parse(text) as { checks: Record<string, { ok: boolean; detail: string }> };
  expect(checks['registration']).toMatchObject({ ok: true, detail: expect.stringContaining('31338') });
  expect(checks['chains']).toMatchObject({ ok: false });
  expect(checks['chains']!.detail).toContain('ACME_L2 CHAIN_NOT_REGISTERED');
});

it('serves reads if all chains differ, and logs it once the database answers', async () => {
  const url = testDatabase.url('api');
  const proxy = await startTcpProxy(Number(new URL(url).port));
  proxy.mode = 'refuse';
  const options = { merchant, networks: [ACME], databaseUrl: proxy.through(url), profile: 'local' } as const;
  const lone = await startTestApi(testDatabase, options);
  try {
    expect(errorsOf(lone)).toEqual([]);
    proxy.mode = 'pass';
    await waitUntil('the reason is logged', () => errorsOf(lone).length > 0);
    expect(errorsOf(lone)).toMatchObject([LEFT_OUT]);
    await lone.knows(merchant);
    expect(await lone.request('GET', '/v1/symbol/supportSymbols')).toMatchObject({ status: 200 });
    expect(await lone.post(COLLECTION, collectionData({ chain: ACME.chain }))).toMatchObject({
      status: 503,
      msg: 'Chain not ready',
    });
    const { status, text } = await lone.request('GET', '/readyz');
    expect(status).toBe(503);
    expect(JSON.parse(text)).toMatchObject({ checks: { registration: { ok: false } } });
  } finally {
    await lone.stop();
    await proxy.close();
  }
});
