import type { Request } from 'express';
import { refusal, tooManyRequests, type Answer } from '../answer.ts';
import { authenticateOrderId } from '../authenticate.ts';
import type { CheckoutPage, Notice } from '../checkout-page.ts';
import { toPayinAnswer } from '../operations/order-answer.ts';
import { CHECKOUT_PAGE_LIMIT } from '../rate-limits.ts';
import { findOrder, type OrderRouteDeps, type Route } from './order-routes.ts';
import { queryOf, singleParameter } from './query.ts';

export interface CheckoutRouteDeps extends OrderRouteDeps {
  readonly checkoutPage: CheckoutPage;
}

/** GET /checkout?orderId=&sign=&lang=: the checkout page. Errors are pages too. */
export function checkoutRoute(deps: CheckoutRouteDeps): Route {
  const { checkoutPage } = deps;
  return async (request, exchange) => {
    const query = queryOf(request);
    const orderId = singleParameter(query, 'orderId') ?? '';
    const sign = singleParameter(query, 'sign');
    const merchant = await authenticateOrderId(deps, request, exchange, {
      orderId,
      sign,
      opensTo: 'customer',
    });
    if ('status' in merchant) return asPage(checkoutPage, request, merchant);
    exchange.orderId = orderId;
    const key = `${merchant.merchantId} ${orderId}`;
    const wait = await deps.limits.take('order:checkout', key, CHECKOUT_PAGE_LIMIT);
    if (wait > 0) return asPage(checkoutPage, request, tooManyRequests(wait));
    const order = await findOrder(deps, merchant, orderId);
    if (order === undefined || order.orderType !== 'COLLECTION') {
      return checkoutPage.notice(request, 404, 'notFound');
    }
    return checkoutPage.order(request, query, toPayinAnswer(order, deps.assets, deps.clock.now()));
  };
}

export function checkoutAssetRoute({ checkoutPage }: Pick<CheckoutRouteDeps, 'checkoutPage'>): Route {
  return (request) => checkoutPage.asset(request, String(request.params['name'])) ?? refusal('NOT_FOUND');
}

function asPage(checkoutPage: CheckoutPage, request: Request, { status, headers }: Answer): Answer {
  const notice: Notice = status === 429 ? 'tooManyRequests' : 'linkNotValid';
  const answer = checkoutPage.notice(request, status, notice);
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

export function checkoutErrorPage({ checkoutPage }: Pick<CheckoutRouteDeps, 'checkoutPage'>) {
  return (request: Request, status: number): Answer => checkoutPage.notice(request, status, 'notAvailable');
}

/** A page for a browser that asks for an unknown path; undefined for a client of the API. */
export function unknownPathPage(
  { checkoutPage }: Pick<CheckoutRouteDeps, 'checkoutPage'>,
  request: Request,
): Answer | undefined {
  const isPage = request.method === 'GET' && /\btext\/html\b/.test(request.headers.accept ?? '');
  const isApi = /^\/(v1|m)(\/|$)/.test(request.path);
  return isPage && !isApi ? checkoutPage.notice(request, 404, 'noPage') : undefined;
}
