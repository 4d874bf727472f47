import { expect, it } from 'vitest';
import { checkLogo } from '@opentill/contracts/logo/check-logo';
import { LOGO } from './pictures.ts';

it('has a logo that the ops service would accept', () => {
  expect(checkLogo(Buffer.from(LOGO))).toEqual({ type: 'image/svg+xml' });
});
