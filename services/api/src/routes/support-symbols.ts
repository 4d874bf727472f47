import { refusal, success, tooManyRequests } from '../answer.ts';
import { explainChain } from '../explain/explain-fields.ts';
import type { OrderRouteDeps, Route } from './order-routes.ts';
import { queryOf, singleParameter } from './query.ts';

/** GET supportSymbols?chain=&symbol=: the configured tokens, without a signature. */
export function supportSymbolsRoute(deps: Pick<OrderRouteDeps, 'assets' | 'limits' | 'merchants'>): Route {
  return async (request, exchange) => {
    const limit = deps.merchants.ipLimit('supportSymbols');
    const wait = await deps.limits.take('ip:supportSymbols', exchange.clientAddress, limit);
    if (wait > 0) return tooManyRequests(wait);
    const query = queryOf(request);
    const chain = singleParameter(query, 'chain');
    const symbol = singleParameter(query, 'symbol');
    if (query.getAll('chain').length > 1) return refusal('CHAIN_UNSUPPORTED', 'chain: is there twice');
    if (chain !== undefined && !deps.assets.isKnownChain(chain)) {
      return refusal('CHAIN_UNSUPPORTED', explainChain(chain, deps.assets.enabledChains));
    }
    return success(
      deps.assets.list({
        ...(chain === undefined ? {} : { chain }),
        ...(symbol === undefined ? {} : { symbol }),
      }),
    );
  };
}
