import { createHash } from 'node:crypto';
import { familyOf, type Chain } from '@opentill/domain/chains';

/** TronLink builds its transactions in the page with these nodes: the only requests to third parties, only for TRON. */
const TRONLINK_NODES = 'https://*.trongrid.io';

export interface PolicyNeeds {
  readonly style: string;
  readonly scripts: boolean;
  /** Undefined for any chain, null for a page without an order. */
  readonly chain: Chain | undefined | null;
  readonly apiOrigin?: string;
  /** Origins that its form may lead to, after those of the page. */
  readonly forms?: readonly string[];
}

/** Allows own scripts, the style sheet, wallet icons as data, logos and the API, and no other resource. */
export function contentPolicy({ style, scripts, chain, apiOrigin, forms }: PolicyNeeds): string {
  const hash = createHash('sha256').update(style).digest('base64');
  const mayBeTron = chain === undefined || (chain !== null && familyOf(chain) === 'TRON');
  const connect = [apiOrigin ?? "'self'", ...(mayBeTron ? [TRONLINK_NODES] : [])].join(' ');
  return [
    "default-src 'none'",
    ...(scripts ? ["script-src 'self'", `connect-src ${connect}`] : []),
    `style-src 'sha256-${hash}'`,
    `img-src 'self' data:${apiOrigin === undefined ? '' : ` ${apiOrigin}`}`,
    "base-uri 'none'",
    `form-action ${forms === undefined ? "'none'" : ["'self'", ...forms].join(' ')}`,
  ].join('; ');
}
