import { callApi, type CallSettings } from './call-api.ts';
import type { LinkFields, LinkPage, PaymentLink, PaymentLinks } from './links.ts';
import type {
  Chain,
  CheckoutOrder,
  Coin,
  CollectionFields,
  CreatedOrder,
  OpenCollectionFields,
  OpenOrder,
  OrderWithUnmatched,
  OrderStatus,
  PayoutFields,
  PricedCollectionFields,
  SupportedSymbol,
} from './orders.ts';
import { signedBody, signOrderId, type Signing } from './sign-request.ts';

export interface OpentillOptions extends Signing {
  /** The merchant's base URL: `https://pay.example.com/m/my-shop`. */
  readonly url: string;
  /** Needed when `url` does not contain it: `https://pay.example.com`. */
  readonly merchantId?: string;
  /** @default 15000 */
  readonly timeoutMs?: number;
  /** Attempts after the first, for temporary errors and timeouts. @default 4 */
  readonly retries?: number;
  /** @default 250 */
  readonly firstPauseMs?: number;
  /** @default 10000 */
  readonly maxPauseMs?: number;
  /** @default the global fetch */
  readonly fetch?: typeof fetch;
  readonly now?: () => Date;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** An order is created once per `orderId`, so every call may be repeated. All methods throw OpentillError. */
export interface Opentill {
  /** The same id with the same fields returns the same order and address; with `status` if the order has ended. */
  createCollection(
    fields: CollectionFields | PricedCollectionFields,
    options?: CallOptions,
  ): Promise<CreatedOrder>;
  /** Without `chain` and `symbol`, your customer chooses the coin. The order has no `options` if only one coin has a rate. */
  createCollection(fields: OpenCollectionFields, options?: CallOptions): Promise<CreatedOrder | OpenOrder>;
  /** Chooses a coin of an order with options, or another one. `CONFLICT`: the order is paid, over or ended. */
  choose(orderId: string, coin: Coin, options?: CallOptions): Promise<CheckoutOrder>;
  /** `UNPROCESSABLE`: the hot wallet's balance is too low. */
  createPayout(fields: PayoutFields, options?: CallOptions): Promise<CreatedOrder>;
  /** The same id with the same fields returns the same link. Each of its payments is an order with its `linkId`. */
  createLink(fields: LinkFields, options?: CallOptions): Promise<PaymentLink>;
  readLink(linkId: string, options?: CallOptions): Promise<PaymentLink>;
  listLinks(page?: LinkPage, options?: CallOptions): Promise<PaymentLinks>;
  /** Permanent. Open orders of the link may still be paid. */
  closeLink(linkId: string, options?: CallOptions): Promise<PaymentLink>;
  /** Complete state of a collection or a payout. */
  status(orderId: string, options?: CallOptions): Promise<OrderWithUnmatched>;
  /** A collection as the checkout page shows it. */
  pay(orderId: string, options?: CallOptions): Promise<CheckoutOrder>;
  /** Only the status: cheap, for polling (at most twice a second). */
  getOrderStatus(orderId: string, options?: CallOptions): Promise<OrderStatus>;
  /** Tokens and chains that this gateway supports. */
  supportSymbols(
    filter?: { readonly chain?: Chain; readonly symbol?: string },
    options?: CallOptions,
  ): Promise<readonly SupportedSymbol[]>;
}

/** @throws TypeError for an invalid URL or an empty token */
export function createOpentill(options: OpentillOptions): Opentill {
  const { token, merchantId, signVersion, now = () => new Date() } = options;
  const base = new URL(options.url);
  if (base.protocol !== 'https:' && base.protocol !== 'http:')
    throw new TypeError(`url: not http or https, but ${base.protocol}`);
  if (token === '') throw new TypeError('token: empty');
  const signing: Signing = { token, signVersion: signVersion ?? 1 };
  const headers = {
    accept: 'application/json',
    ...(merchantId === undefined ? {} : { 'x-merchant-id': merchantId }),
  };
  const settings: CallSettings = {
    timeoutMs: options.timeoutMs ?? 15_000,
    retries: options.retries ?? 4,
    firstPauseMs: options.firstPauseMs ?? 250,
    maxPauseMs: options.maxPauseMs ?? 10_000,
    fetch: options.fetch ?? fetch,
  };

  /** Keeps the base URL's path. The signature covers only the gateway's own path. */
  const urlOf = (path: string): URL => new URL(base.pathname.replace(/\/+$/, '') + path, base);

  const post = async (path: string, data: object, { signal }: CallOptions = {}): Promise<unknown> =>
    callApi(
      { url: urlOf(path).href, body: () => signedBody(signing, path, data, now()), headers, signal },
      settings,
    );

  const get = async (
    path: string,
    query: Readonly<Record<string, string | undefined>>,
    { signal }: CallOptions = {},
  ): Promise<unknown> => {
    const url = urlOf(path);
    for (const [key, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(key, value);
    return callApi({ url: url.href, headers, signal }, settings);
  };
  const sign = (orderId: string): string => signOrderId(token, orderId);

  return {
    createCollection: async (fields: object, call?: CallOptions) =>
      (await post('/v1/order/createCollection', fields, call)) as CreatedOrder,
    choose: async (orderId, { chain, symbol }, { signal } = {}) => {
      const url = urlOf('/v1/order/choose');
      url.searchParams.set('orderId', orderId);
      url.searchParams.set('sign', sign(orderId));
      const body = JSON.stringify({ chain, symbol });
      return (await callApi({ url: url.href, body: () => body, headers, signal }, settings)) as CheckoutOrder;
    },
    createPayout: async (fields, call) =>
      (await post('/v1/order/createPayout', fields, call)) as CreatedOrder,
    createLink: async (fields, call) => (await post('/v1/link/create', fields, call)) as PaymentLink,
    readLink: async (linkId, call) => (await post('/v1/link/read', { linkId }, call)) as PaymentLink,
    listLinks: async (page = {}, call) =>
      (await post('/v1/link/list', { limit: 20, ...page }, call)) as PaymentLinks,
    closeLink: async (linkId, call) =>
      (await post('/v1/link/close', { linkId, closed: true }, call)) as PaymentLink,
    status: async (orderId, call) => {
      const path = `/v1/order/status/${encodeURIComponent(orderId)}`;
      return (await get(path, { sign: sign(orderId) }, call)) as OrderWithUnmatched;
    },
    pay: async (orderId, call) =>
      (await get('/v1/order/pay', { orderId, sign: sign(orderId) }, call)) as CheckoutOrder,
    getOrderStatus: async (orderId, call) => {
      const answer = await get('/v1/order/getOrderStatus', { orderId, sign: sign(orderId) }, call);
      return (answer as { readonly status: OrderStatus }).status;
    },
    supportSymbols: async ({ chain, symbol } = {}, call) =>
      (await get('/v1/symbol/supportSymbols', { chain, symbol }, call)) as readonly SupportedSymbol[],
  };
}
