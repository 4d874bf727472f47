import { readEnvelope } from '@opentill/contracts/signing/json-value';
import { tokenizeJson } from '@opentill/contracts/signing/tokenize-json';
import { refusal, success } from '../answer.ts';
import { chooseOption } from '../operations/choose-option.ts';
import { toPayinAnswer } from '../operations/order-answer.ts';
import { readCoin } from '../order-fields.ts';
import { readBody } from '../read-body.ts';
import { findOrder, readOrderQuery, type OrderRouteDeps, type Route } from './order-routes.ts';

/** POST /v1/order/choose?orderId=&sign= with `chain` and `symbol`: signed as the payment link is. Only for collections. */
export function chooseOptionRoute(deps: OrderRouteDeps): Route {
  return async (request, exchange) => {
    const asked = await readOrderQuery(deps, request, exchange, 'choose');
    if ('status' in asked) return asked;
    const body = await readBody(request);
    if (body === undefined) return undefined;
    if ('code' in body) return refusal(body.code, body.detail);
    const coin = readCoin(readEnvelope(tokenizeJson(body)), deps.assets);
    if ('code' in coin) return refusal(coin.code, coin.detail);
    const read = () => findOrder(deps, asked.merchant, asked.orderId);
    const order = await read();
    if (order === undefined || order.orderType !== 'COLLECTION') return refusal('ORDER_NOT_FOUND');
    const chosen = await chooseOption(deps, order, coin, read);
    return 'code' in chosen
      ? refusal(chosen.code, chosen.detail)
      : success(toPayinAnswer(chosen, deps.assets, deps.clock.now()));
  };
}
