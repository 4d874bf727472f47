import { expect, it } from 'vitest';
import type { Chain } from '@opentill/domain/chains';
import { docsFactsOf, gatewayUrlOf } from './docs-facts.ts';

const network = (chain: Chain) => ({ chain, enabled: true, tokens: [{ symbol: 'USDC' }] });
const merchant = { merchantId: 'default', token: 't', returnOrigins: ['http://localhost:3011'] };
const SOURCE = {
  checkoutBaseUrl: 'http://localhost:3010/checkout',
  profile: 'local' as const,
  networks: [network('BSC_TEST')],
  merchants: { candidates: () => [merchant] },
};

it('gives the token and the shop in the local profile', () => {
  const { gatewayUrl, asset, local } = docsFactsOf(SOURCE);
  expect({ gatewayUrl, asset }).toEqual({
    gatewayUrl: 'http://localhost:3010',
    asset: { chain: 'BSC_TEST', symbol: 'USDC' },
  });
  expect(local?.()).toEqual({ token: 't', shopUrl: 'http://localhost:3011' });
});

it('gives no token in production, on main networks, or of another merchant', () => {
  expect(docsFactsOf({ ...SOURCE, profile: 'production' }).local).toBeUndefined();
  expect(docsFactsOf({ ...SOURCE, networks: [network('ETH')] }).local).toBeUndefined();
  expect(docsFactsOf({ ...SOURCE, networks: [] }).local).toBeUndefined();
  const decoy = { candidates: () => [{ ...merchant, merchantId: '' }] };
  expect(docsFactsOf({ ...SOURCE, merchants: decoy }).local?.().token).toBeUndefined();
});

it.each([
  ['https://pay.example.com/checkout', 'https://pay.example.com'],
  ['https://example.com/pay/checkout/', 'https://example.com/pay'],
  ['https://checkout.example.com/', undefined],
])('reads the base URL of %s', (checkoutBaseUrl, gatewayUrl) => {
  expect(gatewayUrlOf(checkoutBaseUrl)).toBe(gatewayUrl);
});
