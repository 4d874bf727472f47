import type { Chain } from '@opentill/domain/chains';
import { expect, test } from 'vitest';
import { contentPolicy, type PolicyNeeds } from './content-policy.ts';

const policyOf = (chains: readonly Chain[] | undefined, needs: Partial<PolicyNeeds> = {}) =>
  contentPolicy({ style: 'a{}', scripts: true, chains, ...needs });

test("allows no foreign resource except TronLink's nodes", () => {
  expect(policyOf(['ETH'])).toMatch(
    /; connect-src 'self'; style-src 'sha256-[\w+/=]+'; img-src 'self' data:;/,
  );
  expect(policyOf(['ETH'])).toMatch(/^default-src 'none'; script-src 'self';/);
  expect(policyOf(['SUI'])).toContain("connect-src 'self';");
  expect(policyOf(['ETH', 'TRON'])).toContain("connect-src 'self' https://*.trongrid.io;");
  expect(policyOf(undefined, { apiOrigin: 'https://api.example' })).toContain(
    'connect-src https://api.example https://*.trongrid.io;',
  );
  expect(policyOf(['ETH'])).toContain("form-action 'none'");
  expect(policyOf([], { forms: [] })).toMatch(/form-action 'self'$/);
  expect(policyOf([])).toContain("connect-src 'self';");
  expect(policyOf(undefined, { scripts: false })).not.toMatch(/script-src|connect-src/);
});

test('allows the relay of WalletConnect only where a wallet can pay through it', () => {
  const relayUrl = 'wss://relay.example';
  expect(policyOf(['SUI', 'ETH'], { relayUrl })).toContain("connect-src 'self' wss://relay.example;");
  expect(policyOf(undefined, { relayUrl })).toContain('https://*.trongrid.io wss://relay.example;');
  for (const chains of [['TRON', 'SUI'], []] as const) {
    expect(policyOf(chains, { relayUrl })).not.toContain('relay');
  }
});
