import type { Request } from 'express';
import type { MerchantLinks } from '@opentill/checkout/view/checkout-order';
import { queryWithout } from '@opentill/checkout/view/folds';
import { coinKey, OPTION_FIELD } from '@opentill/checkout/view/render-choice';
import { refusal, seeOther, tooManyRequests, type Answer } from '../answer.ts';
import { authenticateOrderId } from '../authenticate.ts';
import type { CheckoutPage, Notice } from '../checkout-page.ts';
import { chooseOption } from '../operations/choose-option.ts';
import { toPayinAnswer } from '../operations/order-answer.ts';
import type { Problem } from '../problem.ts';
import { CHECKOUT_PAGE_LIMIT } from '../rate-limits.ts';
import { readBody } from '../read-body.ts';
import { findOrder, readOrderQuery, type OrderRouteDeps, type Route } from './order-routes.ts';
import { queryOf, singleParameter } from './query.ts';

export interface CheckoutRouteDeps extends OrderRouteDeps {
  readonly checkoutPage: CheckoutPage;
}

/** The end of a payment link's signature, also of a damaged one. */
const NAMED_MERCHANT = /\.(?<id>[A-Za-z0-9_-]{1,64})$/;

/** The coin may be chosen later. Any other refusal shows on the page. */
const LATER: ReadonlySet<Problem['code']> = new Set([
  'SERVICE_UNAVAILABLE',
  'CHAIN_NOT_READY',
  'RATE_UNAVAILABLE',
]);

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
    if ('status' in merchant) {
      // Rejected clients wait; they cause no query.
      const named = merchant.status === 429 ? undefined : NAMED_MERCHANT.exec(sign ?? '')?.groups?.['id'];
      const links = named === undefined ? undefined : await deps.store.findLinks(named);
      return asPage(deps, request, merchant, links);
    }
    exchange.orderId = orderId;
    const key = `${merchant.merchantId} ${orderId}`;
    const wait = await deps.limits.take('order:checkout', key, CHECKOUT_PAGE_LIMIT);
    if (wait > 0) return asPage(deps, request, tooManyRequests(wait));
    const order = await findOrder(deps, merchant, orderId);
    if (order === undefined || order.orderType !== 'COLLECTION') {
      const links = await deps.store.findLinks(merchant.merchantId);
      return checkoutPage.notice(request, 404, 'notFound', links);
    }
    return checkoutPage.order(request, query, toPayinAnswer(order, deps.assets, deps.clock.now()));
  };
}

/** POST /checkout with `option`: the choice of a coin on a page without scripts. Leads back to the page in any outcome. */
export function chooseOnPageRoute(deps: CheckoutRouteDeps): Route {
  return async (request, exchange) => {
    const asked = await readOrderQuery(deps, request, exchange, 'choose');
    if ('status' in asked) return asPage(deps, request, asked);
    const body = await readBody(request, 'application/x-www-form-urlencoded');
    if (body === undefined) return undefined;
    const back = seeOther(`?${queryWithout('choose', queryOf(request))}`);
    if ('code' in body) return back;
    const read = () => findOrder(deps, asked.merchant, asked.orderId);
    const order = await read();
    if (order === undefined || order.orderType !== 'COLLECTION') return back;
    const key = new URLSearchParams(body.toString()).get(OPTION_FIELD);
    const coin = (order.options ?? [order]).find((option) => coinKey(option) === key);
    const chosen = coin === undefined ? order : await chooseOption(deps, order, coin, read);
    const isLater = 'code' in chosen && LATER.has(chosen.code);
    return isLater ? deps.checkoutPage.notice(request, 503, 'notAvailable') : back;
  };
}

export function checkoutAssetRoute({ checkoutPage }: Pick<CheckoutRouteDeps, 'checkoutPage'>): Route {
  return (request) => checkoutPage.asset(request, String(request.params['name'])) ?? refusal('NOT_FOUND');
}

function asPage(
  deps: Pick<CheckoutRouteDeps, 'checkoutPage'>,
  request: Request,
  answer: Answer,
  links?: MerchantLinks,
): Answer {
  return noticeOf(deps, request, answer, answer.status === 429 ? 'tooManyRequests' : 'linkNotValid', links);
}

/** An answer of the API as a page, with its status and headers. */
export function noticeOf(
  { checkoutPage }: Pick<CheckoutRouteDeps, 'checkoutPage'>,
  request: Request,
  { status, headers }: Answer,
  notice: Notice,
  links?: MerchantLinks,
): Answer {
  const page = checkoutPage.notice(request, status, notice, links);
  return { ...page, headers: { ...page.headers, ...headers } };
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
