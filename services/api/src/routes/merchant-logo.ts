import { refusal, tooManyRequests } from '../answer.ts';
import { LOGO_VERSION_LENGTH } from '../operations/order-answer.ts';
import { MERCHANT_LOGO_LIMIT } from '../rate-limits.ts';
import type { OrderRouteDeps, Route } from './order-routes.ts';
import { queryOf, singleParameter } from './query.ts';

/** Prevents scripts and requests of an SVG opened as a document. */
const LOGO_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
/** The URL in `merchant.logoUrl` contains the version, so it never changes. */
const VERSION_CACHE = 'public, max-age=31536000, immutable';
const UNVERSIONED_CACHE = 'public, max-age=300';

/** GET /m/<merchantId>/logo?v=: public, because the id is in every payment link. */
export function merchantLogoRoute({ store, limits }: Pick<OrderRouteDeps, 'store' | 'limits'>): Route {
  return async (request, exchange) => {
    const wait = await limits.take('address:logo', exchange.clientAddress, MERCHANT_LOGO_LIMIT);
    if (wait > 0) return tooManyRequests(wait);
    const found = await store.findLogo(String(request.params['merchantId']));
    if (found === undefined) return refusal('NOT_FOUND');
    const version = found.logoHash.slice(0, LOGO_VERSION_LENGTH);
    const isCurrent = singleParameter(queryOf(request), 'v') === version;
    const etag = `"${version}"`;
    const headers = {
      ETag: etag,
      'Cache-Control': isCurrent ? VERSION_CACHE : UNVERSIONED_CACHE,
      'Content-Security-Policy': LOGO_POLICY,
      // Merchants' own checkout pages on other origins show it.
      'Cross-Origin-Resource-Policy': 'cross-origin',
    };
    const isKnown = (request.headers['if-none-match'] ?? '')
      .split(',')
      .some((tag) => tag.trim().replace(/^W\//, '') === etag);
    if (isKnown) return { status: 304, body: '', contentType: found.logoType, headers };
    return { status: 200, body: found.logo, contentType: found.logoType, headers };
  };
}
