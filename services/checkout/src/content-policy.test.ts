import { expect, test } from 'vitest';
import { contentPolicy } from './content-policy.ts';

test("allows no foreign resource except TronLink's nodes", () => {
  const policyOf = (chain: 'ETH' | 'SUI' | 'TRON' | undefined) =>
    contentPolicy({ style: 'a{}', scripts: true, chain });
  expect(policyOf('ETH')).toMatch(/; connect-src 'self'; style-src 'sha256-[\w+/=]+'; img-src 'self' data:;/);
  expect(policyOf('ETH')).toMatch(/^default-src 'none'; script-src 'self';/);
  expect(policyOf('SUI')).toContain("connect-src 'self';");
  expect(policyOf('TRON')).toContain("connect-src 'self' https://*.trongrid.io;");
  expect(
    contentPolicy({ style: '', scripts: true, chain: undefined, apiOrigin: 'https://api.example' }),
  ).toContain('connect-src https://api.example https://*.trongrid.io;');
  expect(policyOf('ETH')).toContain("form-action 'none'");
  expect(contentPolicy({ style: '', scripts: true, chain: null, forms: [] })).toMatch(/form-action 'self'$/);
  expect(contentPolicy({ style: '', scripts: true, chain: null })).toContain("connect-src 'self';");
  expect(contentPolicy({ style: '', scripts: false, chain: undefined })).not.toMatch(
    /script-src|connect-src/,
  );
});
