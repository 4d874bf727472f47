import { expect, it } from 'vitest';
import { checkLogo } from '@opentill/contracts/logo/check-logo';
import { DEMO_LOGO } from './prepare-merchant.ts';

it('gives the demo merchant a logo that the ops service would accept', () => {
  expect(checkLogo(Buffer.from(DEMO_LOGO))).toEqual({ type: 'image/svg+xml' });
});
