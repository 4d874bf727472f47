import type { Response } from 'express';
import type { Operator } from '@opentill/db/operators';

/** One request and its answer, as the log, the limits and the audit see it. */
export interface Exchange {
  /** Sent as `X-Request-Id`; ties an answer to log and audit. */
  readonly requestId: string;
  /** From performance.now(). */
  readonly startedMs: number;
  readonly clientAddress: string;
  readonly method: string;
  /** The operation, never the URL. */
  operation: string;
  operator?: Operator;
}

/** Puts the exchange where exchangeOf finds it. */
export function keepExchange(response: Response, exchange: Exchange): void {
  response.locals['exchange'] = exchange;
}

/** The exchange of this response, made by the first middleware of all. */
export function exchangeOf(response: Response): Exchange {
  return response.locals['exchange'] as Exchange;
}
