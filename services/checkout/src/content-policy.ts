import { createHash } from 'node:crypto';
import { familyOf, type Chain, type Family } from '@opentill/domain/chains';

/** TronLink builds its transactions in the page with these nodes, only for TRON. */
const TRONLINK_NODES = 'https://*.trongrid.io';

export interface PolicyNeeds {
  readonly style: string;
  readonly scripts: boolean;
  /** Chains that the page may offer. Undefined for any; none for a page without an order. */
  readonly chains: readonly Chain[] | undefined;
  /** Relay of WalletConnect, which pays on EVM chains. Undefined: off. */
  readonly relayUrl?: string | undefined;
  readonly apiOrigin?: string;
  /** Origins that its form may lead to, after those of the page. */
  readonly forms?: readonly string[];
}

/** Allows own scripts, the style sheet, wallet icons as data, logos and the API, and no other resource. */
export function contentPolicy(needs: PolicyNeeds): string {
  const { style, scripts, chains, relayUrl, apiOrigin, forms } = needs;
  const hash = createHash('sha256').update(style).digest('base64');
  const mayBe = (family: Family) =>
    chains === undefined || chains.some((chain) => familyOf(chain) === family);
  const connect = [
    apiOrigin ?? "'self'",
    ...(mayBe('TRON') ? [TRONLINK_NODES] : []),
    ...(relayUrl !== undefined && mayBe('EVM') ? [relayUrl] : []),
  ].join(' ');
  return [
    "default-src 'none'",
    ...(scripts ? ["script-src 'self'", `connect-src ${connect}`] : []),
    `style-src 'sha256-${hash}'`,
    `img-src 'self' data:${apiOrigin === undefined ? '' : ` ${apiOrigin}`}`,
    "base-uri 'none'",
    `form-action ${forms === undefined ? "'none'" : ["'self'", ...forms].join(' ')}`,
  ].join('; ');
}
