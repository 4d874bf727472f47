import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Guides } from './docs/guides.ts';

export type GuidesErrorCode =
  /** dist/guides.json is missing: run `pnpm build`. */
  'GUIDES_NOT_BUILT';

const BUILT_GUIDES = join(import.meta.dirname, '..', 'dist', 'guides.json');

/** @throws GatewayError GUIDES_NOT_BUILT */
export function readGuides(file = BUILT_GUIDES): Guides {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Guides;
  } catch (cause) {
    throw new GatewayError<GuidesErrorCode>(
      'GUIDES_NOT_BUILT',
      'the guides are not built: run "pnpm build"',
      {
        retryable: false,
        cause,
      },
    );
  }
}
