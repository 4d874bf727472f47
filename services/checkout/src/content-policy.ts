import { createHash } from 'node:crypto';
import { familyOf, type Chain } from '@opentill/domain/chains';

/**
 * TronLink builds its transactions in the page, with TRON's public nodes: the only requests to others, made by the
 * wallet, for TRON alone, and not before somebody presses its button.
 */
const TRONLINK_NODES = 'https://*.trongrid.io';

/** What a document of the page may load and run. */
export interface PolicyNeeds {
  /** All of its style sheet. */
  readonly style: string;
  /** False: no script at all. */
  readonly scripts: boolean;
  /** Of the order; undefined while it is not known. */
  readonly chain: Chain | undefined;
  /** Where the API is when that is not the page's own origin. */
  readonly apiOrigin?: string;
}

/** The Content-Security-Policy: own scripts, the one style sheet, wallets' icons as data, own server. Nothing else. */
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
