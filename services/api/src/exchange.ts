import type { Response } from 'express';

/** One request and its answer, as the log and the limits see it. */
export interface Exchange {
  /** Sent as `X-Request-Id`; ties an answer to the log. */
  readonly requestId: string;
  /** From performance.now(). */
  readonly startedMs: number;
  readonly clientAddress: string;
  readonly method: string;
  /** The pattern, never the URL: that holds a signature. */
  route: string;
  /** From the base URL `/m/<merchantId>`; not verified. */
  namedMerchantId?: string;
  merchantId?: string;
  orderId?: string;
}

/** Puts the exchange where exchangeOf finds it. */
export function keepExchange(response: Response, exchange: Exchange): void {
  response.locals['exchange'] = exchange;
}

/** The exchange of this response, made by the first middleware of all. */
export function exchangeOf(response: Response): Exchange {
  return response.locals['exchange'] as Exchange;
}
