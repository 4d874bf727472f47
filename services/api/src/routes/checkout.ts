import { toString as toQrCode } from 'qrcode';
import { formatAmount } from '@opentill/domain/money';
import { page, tooManyRequests, type Answer } from '../answer.ts';
import { authenticateOrderId } from '../authenticate.ts';
import { toPayinAnswer } from '../operations/order-answer.ts';
import { CHECKOUT_PAGE_LIMIT } from '../rate-limits.ts';
import { CHECKOUT_CSP, checkoutPage, noticePage } from './checkout-view.ts';
import { findOrder, type OrderRouteDeps, type Route } from './order-routes.ts';
import { queryOf, singleParameter } from './query.ts';

/** Drawings kept: an open page asks for the same one every few seconds. */
const KEPT_DRAWINGS = 512;

/** GET /checkout?orderId=&sign=: the page a customer pays by. Refusals are pages as well. */
export function checkoutRoute(deps: OrderRouteDeps): Route {
  const drawings = new Map<string, string>();

  async function draw(address: string): Promise<string> {
    let svg = drawings.get(address);
    if (svg === undefined) {
      svg = await toQrCode(address, { type: 'svg', errorCorrectionLevel: 'M', margin: 2 });
      const [oldest] = drawings.keys();
      if (drawings.size >= KEPT_DRAWINGS && oldest !== undefined) drawings.delete(oldest);
      drawings.set(address, svg);
    }
    return svg;
  }

  return async (request, exchange) => {
    const query = queryOf(request);
    const orderId = singleParameter(query, 'orderId') ?? '';
    const sign = singleParameter(query, 'sign');
    const merchant = await authenticateOrderId(deps, request, exchange, { orderId, sign });
    if ('status' in merchant) return asPage(merchant);
    exchange.orderId = orderId;
    const key = `${merchant.merchantId} ${orderId}`;
    const wait = await deps.limits.take('order:checkout', key, CHECKOUT_PAGE_LIMIT);
    if (wait > 0) return asPage(tooManyRequests(wait));
    const order = await findOrder(deps, merchant, orderId);
    if (order === undefined || order.orderType !== 'COLLECTION') {
      return page(404, noticePage('Order not found', 'There is no such payment request.'), CHECKOUT_CSP);
    }
    const view = toPayinAnswer(order, deps.assets, deps.clock.now());
    const missing = order.amount - order.detectedAmount;
    const missingAmount = missing > 0n ? formatAmount(missing, order.decimals, order.displayDecimals) : null;
    const qrSvg = await draw(view.address);
    return page(200, checkoutPage(view, { qrSvg, missingAmount }), CHECKOUT_CSP);
  };
}

function asPage({ status, headers }: Answer): Answer {
  const html =
    status === 429
      ? noticePage('Too many requests', 'Please slow down and try again in a few seconds.')
      : noticePage('Link not valid', 'This payment link is not valid. Please go back to the shop.');
  const answer = page(status, html, CHECKOUT_CSP);
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** The page for an error that is ours. */
export function checkoutErrorPage(status: number): Answer {
  return page(
    status,
    noticePage('Not available', 'Please try again in a moment; what you have paid is not lost.'),
    CHECKOUT_CSP,
  );
}
