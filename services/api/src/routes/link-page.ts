import type { Request } from 'express';
import type { LinkState } from '@opentill/contracts/http/answers';
import { qrFile } from '@opentill/checkout/view/qr-code';
import { refusal, seeOther, tooManyRequests, type Answer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import { linkStateOf, linkUrl } from '../operations/link-answer.ts';
import { openLinkOrder, readForm, type LinkOrder } from '../operations/open-link-order.ts';
import { paymentUrl, profileOf } from '../operations/order-answer.ts';
import { acceptedAssets } from '../operations/price-options.ts';
import { OPTIONS_MAX } from '../order-fields.ts';
import { LINK_ORDERS_PER_ADDRESS, LINK_VISITS_PER_ADDRESS, ORDERS_PER_LINK } from '../rate-limits.ts';
import { readBody } from '../read-body.ts';
import type { LinkRefusal } from '../store/create-orders.ts';
import type { LinkOfMerchant } from '../store/links.ts';
import { noticeOf, type CheckoutRouteDeps } from './checkout.ts';
import type { Route } from './order-routes.ts';
import { queryOf, singleParameter } from './query.ts';

export const LINK_PAGE_PATH = '/checkout/link/:code';

const CODE_GRAMMAR = /^[A-Za-z0-9_-]{22}$/;

async function findLink(deps: CheckoutRouteDeps, request: Request): Promise<LinkOfMerchant | Answer> {
  const code = String(request.params['code']);
  const link = CODE_GRAMMAR.test(code) ? await deps.store.findLinkByCode(code) : undefined;
  return link ?? deps.checkoutPage.notice(request, 404, 'linkNotValid');
}

function endedPage(
  { checkoutPage }: CheckoutRouteDeps,
  request: Request,
  { merchant }: LinkOfMerchant,
  state: Exclude<LinkState, 'OPEN'> | LinkRefusal,
): Answer {
  return state === 'SOLD_OUT'
    ? checkoutPage.notice(request, 409, 'soldOut', merchant)
    : checkoutPage.notice(request, 410, 'linkEnded', merchant);
}

/** GET: opens no order, so that crawlers and previews may read it. */
export function linkPageRoute(deps: CheckoutRouteDeps): Route {
  return async (request, exchange) => {
    const wait = await deps.limits.take('address:link', exchange.clientAddress, LINK_VISITS_PER_ADDRESS);
    if (wait > 0) return noticeOf(deps, request, tooManyRequests(wait), 'tooManyRequests');
    const link = await findLink(deps, request);
    if ('status' in link) return link;
    const state = linkStateOf(link);
    return state === 'OPEN' ? formPage(deps, request, link, 200) : endedPage(deps, request, link, state);
  };
}

function formPage(
  deps: CheckoutRouteDeps,
  request: Request,
  link: LinkOfMerchant,
  status: number,
  entered?: string,
): Answer {
  const coins =
    link.coin === null ? acceptedAssets(deps, link.accept).assets.slice(0, OPTIONS_MAX) : [link.coin];
  const view = {
    ...link,
    merchant: profileOf(link.merchant),
    coins: coins.map(({ chain, symbol }) => ({ chain, symbol, chainName: deps.assets.nameOf(chain) })),
    isTestNetwork: deps.assets.all.some(({ chain }) => deps.assets.isTestNetwork(chain)),
    url: linkUrl(deps.checkoutBaseUrl, link.code),
  };
  const form = { key: deps.newId(), ...(entered === undefined ? {} : { entered }) };
  return deps.checkoutPage.link(request, status, view, form);
}

/** POST: opens an order and leads to its payment. The same form leads to the same order. */
export function openLinkOrderRoute(deps: CheckoutRouteDeps): Route {
  return async (request, exchange) => {
    const { clientAddress } = exchange;
    const wait = await deps.limits.take('ip:openOrder', clientAddress, LINK_ORDERS_PER_ADDRESS);
    if (wait > 0) return noticeOf(deps, request, tooManyRequests(wait), 'tooManyRequests');
    const body = await readBody(request, 'application/x-www-form-urlencoded');
    if (body === undefined) return undefined;
    const isOwnForm = ['same-origin', undefined].includes(header(request, 'sec-fetch-site'));
    if ('code' in body || !isOwnForm) return seeOther(`?${queryOf(request).toString()}`);
    const link = await findLink(deps, request); // also one that has ended: the form may have opened its order before
    if ('status' in link) return link;
    const linkWait = await deps.limits.take('link:openOrder', link.code, ORDERS_PER_LINK);
    if (linkWait > 0) return noticeOf(deps, request, tooManyRequests(linkWait), 'tooManyRequests');
    const form = readForm(link, new URLSearchParams(body.toString()));
    if (form === undefined) return seeOther(`?${queryOf(request).toString()}`);
    if ('wrongAmount' in form) {
      const state = linkStateOf(link);
      return state === 'OPEN'
        ? formPage(deps, request, link, 422, form.wrongAmount)
        : endedPage(deps, request, link, state);
    }
    return answerOpened(deps, request, exchange, link, form);
  };
}

async function answerOpened(
  deps: CheckoutRouteDeps,
  request: Request,
  exchange: Exchange,
  link: LinkOfMerchant,
  order: LinkOrder,
): Promise<Answer> {
  const merchant = await deps.merchants.find(link.merchantId);
  const unavailable = () => noticeOf(deps, request, refusal('SERVICE_UNAVAILABLE'), 'notAvailable');
  if (merchant === undefined) return unavailable();
  exchange.merchantId = merchant.merchantId;
  exchange.orderId = order.orderId;
  const opened = await openLinkOrder(deps, merchant, link, order);
  switch (opened) {
    case 'SOLD_OUT':
    case 'LINK_ENDED':
      return endedPage(deps, request, link, opened);
    case 'WRONG_AMOUNT':
      return order.amount === null ? unavailable() : formPage(deps, request, link, 422, order.amount);
    case 'UNAVAILABLE':
      return unavailable();
    case 'OPENED': {
      const language = singleParameter(queryOf(request), 'lang');
      const url = new URL(paymentUrl(deps.checkoutBaseUrl, merchant, order.orderId));
      if (language !== undefined) url.searchParams.set('lang', language);
      return seeOther(url.href);
    }
  }
}

function header(request: Request, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** The code of the page's address as a file, to be printed. Also for a link that was not created yet: it is only text. */
export function linkCodeRoute(deps: CheckoutRouteDeps): Route {
  return async (request, { clientAddress }) => {
    const wait = await deps.limits.take('address:link', clientAddress, LINK_VISITS_PER_ADDRESS);
    if (wait > 0) return tooManyRequests(wait);
    const code = String(request.params['code']);
    if (!CODE_GRAMMAR.test(code)) return refusal('NOT_FOUND');
    const body = qrFile(linkUrl(deps.checkoutBaseUrl, code));
    return { status: 200, body, contentType: 'image/svg+xml; charset=utf-8' };
  };
}
