import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { checkLogo } from '@opentill/contracts/logo/check-logo';
import { DEMO_LOGO } from './prepare-merchant.ts';

it('gives the demo merchant a logo that the ops service would accept', () => {
  expect(checkLogo(Buffer.from(DEMO_LOGO))).toEqual({ type: 'image/svg+xml' });
});

it('gives the demo merchant the logo of the demo shop', () => {
  const pictures = new URL('../../../tools/demo-shop/src/pictures.ts', import.meta.url);
  expect(readFileSync(pictures, 'utf8')).toContain(`LOGO = \`${DEMO_LOGO}\`;`);
});
