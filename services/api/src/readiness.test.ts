import { expect, it } from 'vitest';
import type { Chain } from '@opentill/domain/chains';
import { gatewayChecks, type ReadinessDeps } from './readiness.ts';

const REST_MS = 40_000;

async function chains(ageSeconds: number, mistakes: readonly Chain[] = []) {
  const ages = new Map<string, number>([['ETH', ageSeconds]]);
  const deps = {
    store: {
      readCursorAges: () => Promise.resolve(ages),
      readChainStatuses: () => Promise.resolve([]),
      findUnregistered: () =>
        Promise.resolve(new Map(mistakes.map((chain) => [chain, { code: 'CHAIN_NOT_REGISTERED' }]))),
    },
    assets: { enabledChains: ['ETH'] as Chain[], payoutChains: [], restIntervalMs: () => REST_MS },
  };
  return gatewayChecks(deps as unknown as ReadinessDeps)['chains']!();
}

it('is ready while a resting scanner commits once per rest', async () => {
  expect(await chains(99)).toEqual({ ok: true, detail: 'followed' });
  expect(await chains(101)).toEqual({ ok: false, detail: 'waiting for ETH' });
});

it('is not ready while the database has a chain with another identity', async () => {
  expect(await chains(1, ['ETH'])).toEqual({ ok: false, detail: 'ETH CHAIN_NOT_REGISTERED' });
});
