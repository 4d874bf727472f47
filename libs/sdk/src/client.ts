import { callApi, type CallSettings } from './call-api.ts';
import type {
  Chain,
  CheckoutOrder,
  CollectionFields,
  CreatedOrder,
  Order,
  OrderStatus,
  PayoutFields,
  SupportedSymbol,
} from './orders.ts';
import { signedBody, signOrderId, type Signing } from './sign-request.ts';

export interface OpentillOptions extends Signing {
  /** The merchant's base URL: `https://pay.example.com/m/my-shop`. */
  readonly url: string;
  /** Names the merchant where `url` does not: `https://pay.example.com`. */
  readonly merchantId?: string;
  /** @default 15000 */
  readonly timeoutMs?: number;
  /** Attempts after the first, for answers and silences that pass. @default 4 */
  readonly retries?: number;
  /** @default 250 */
  readonly firstPauseMs?: number;
  /** @default 10000 */
  readonly maxPauseMs?: number;
  /** @default the one of Node.js */
  readonly fetch?: typeof fetch;
  /** @default the clock of this machine */
  readonly now?: () => Date;
}

export interface CallOptions {
  /** Ends the call, its pauses included. */
  readonly signal?: AbortSignal;
}

/**
 * The merchant's side of the gateway. Every method may be repeated: an order is created once under its `orderId`, however often
 * it is asked for, so retries after a lost answer are safe, those that the client makes by itself too.
 * All throw OpentillError.
 */
export interface Opentill {
  /** Makes an order to be paid; the same id with the same fields gives the same order and address. */
  createCollection(fields: CollectionFields, options?: CallOptions): Promise<CreatedOrder>;
  /** Pays somebody. `UNPROCESSABLE`: the hot wallet does not cover it. */
  createPayout(fields: PayoutFields, options?: CallOptions): Promise<CreatedOrder>;
  /** All that is known of an order of either kind. */
  status(orderId: string, options?: CallOptions): Promise<Order>;
  /** What the checkout page shows of a collection. */
  pay(orderId: string, options?: CallOptions): Promise<CheckoutOrder>;
  /** The status alone: cheap, and made for polling (twice a second at most). */
  getOrderStatus(orderId: string, options?: CallOptions): Promise<OrderStatus>;
  /** What this gateway takes; may be narrowed to a chain or a symbol. */
  supportSymbols(
    filter?: { readonly chain?: Chain; readonly symbol?: string },
    options?: CallOptions,
  ): Promise<readonly SupportedSymbol[]>;
}

/** @throws TypeError for a URL that is none, or an empty token */
export function createOpentill(options: OpentillOptions): Opentill {
  const { token, merchantId, signVersion, now = () => new Date() } = options;
  const base = new URL(options.url);
  if (base.protocol !== 'https:' && base.protocol !== 'http:')
    throw new TypeError(`url: not http or https: ${base.protocol}`);
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

  /** A gateway below a path of its host is reached there; what is signed is the gateway's own path. */
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
    createCollection: async (fields, call) =>
      (await post('/v1/order/createCollection', fields, call)) as CreatedOrder,
    createPayout: async (fields, call) =>
      (await post('/v1/order/createPayout', fields, call)) as CreatedOrder,
    status: async (orderId, call) => {
      const path = `/v1/order/status/${encodeURIComponent(orderId)}`;
      return (await get(path, { sign: sign(orderId) }, call)) as Order;
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
