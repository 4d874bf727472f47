import type { Response } from 'express';

/** A request and its response, as logs and rate limits see them. */
export interface Exchange {
  /** Sent as `X-Request-Id`; links a response to the log. */
  readonly requestId: string;
  readonly startedMs: number;
  readonly clientAddress: string;
  readonly method: string;
  /** The route's pattern. The URL is never logged, since it contains a signature. */
  route: string;
  /** From the base URL `/m/<merchantId>`; not verified. */
  namedMerchantId?: string;
  merchantId?: string;
  orderId?: string;
  /** Set when this request created the order. */
  orderPk?: string;
}

/** Stores the exchange for exchangeOf. */
export function keepExchange(response: Response, exchange: Exchange): void {
  response.locals['exchange'] = exchange;
}

/** Exchange of this response, which the first middleware stores. */
export function exchangeOf(response: Response): Exchange {
  return response.locals['exchange'] as Exchange;
}
