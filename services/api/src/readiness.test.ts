import { expect, it } from 'vitest';
import type { Chain } from '@opentill/domain/chains';
import { apiChecks, gatewayChecks, type ReadinessDeps } from './readiness.ts';

const REST_MS = 40_000;

function depsOf(ageSeconds: number, mistakes: readonly Chain[], enabledChains: readonly Chain[]) {
  const ages = new Map<string, number>([['ETH', ageSeconds]]);
  return {
    store: {
      readCursorAges: () => Promise.resolve(ages),
      readChainStatuses: () => Promise.resolve([]),
      findUnregistered: () =>
        Promise.resolve(new Map(mistakes.map((chain) => [chain, { code: 'CHAIN_NOT_REGISTERED' }]))),
    },
    assets: { enabledChains, payoutChains: [], restIntervalMs: () => REST_MS },
  } as unknown as ReadinessDeps;
}

function chains(ageSeconds: number, mistakes: readonly Chain[] = []) {
  return gatewayChecks(depsOf(ageSeconds, mistakes, ['ETH']))['chains']!();
}

it('is ready while a resting scanner commits once per rest', async () => {
  expect(await chains(99)).toEqual({ ok: true, detail: 'followed' });
  expect(await chains(101)).toEqual({ ok: false, detail: 'waiting for ETH' });
});

it('is not ready while the database has a chain with another identity', async () => {
  expect(await chains(1, ['ETH'])).toEqual({ ok: false, detail: 'ETH CHAIN_NOT_REGISTERED' });
});

it.each<[string, readonly Chain[], readonly Chain[], boolean]>([
  ['without enabled chains', [], [], true],
  ['while a single chain has another identity', ['ETH', 'BSC'], ['BSC'], true],
  ['while all chains have another identity', ['ETH', 'BSC'], ['ETH', 'BSC'], false],
])('reports the registration %s', async (_, enabled, mistakes, ok) => {
  expect(await apiChecks(depsOf(1, mistakes, enabled))['registration']!()).toMatchObject({ ok });
});
