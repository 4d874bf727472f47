import type { Response } from 'express';
import type { Operator } from '@opentill/db/operators';

export interface Exchange {
  /** Sent as `X-Request-Id`; also in log and audit. */
  readonly requestId: string;
  readonly startedMs: number;
  readonly clientAddress: string;
  readonly method: string;
  /** The operation's name, never the URL. */
  operation: string;
  operator?: Operator;
}

export function keepExchange(response: Response, exchange: Exchange): void {
  response.locals['exchange'] = exchange;
}

export function exchangeOf(response: Response): Exchange {
  return response.locals['exchange'] as Exchange;
}
