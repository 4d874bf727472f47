import { createHash } from 'node:crypto';
import { familyOf, type Chain } from '@opentill/domain/chains';

/**
 * TronLink builds its transactions in the page with TRON's public nodes. These are the only requests to third parties.
 * The wallet makes them, only for TRON, after the customer chose it.
 */
const TRONLINK_NODES = 'https://*.trongrid.io';

export interface PolicyNeeds {
  readonly style: string;
  readonly scripts: boolean;
  /** Chain of the order; undefined while it is not known. */
  readonly chain: Chain | undefined;
  /** Origin of the API when it is not the page's own. */
  readonly apiOrigin?: string;
}

/**
 * Content-Security-Policy that allows own scripts, the style sheet, wallet icons as data and the API, and no other
 * resource.
 */
export function contentPolicy({ style, scripts, chain, apiOrigin }: PolicyNeeds): string {
  const hash = createHash('sha256').update(style).digest('base64');
  const mayBeTron = chain === undefined || familyOf(chain) === 'TRON';
  const connect = [apiOrigin ?? "'self'", ...(mayBeTron ? [TRONLINK_NODES] : [])].join(' ');
  return [
    "default-src 'none'",
    ...(scripts ? ["script-src 'self'", `connect-src ${connect}`] : []),
    `style-src 'sha256-${hash}'`,
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}
