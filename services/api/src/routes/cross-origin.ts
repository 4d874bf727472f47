import type { Request, RequestHandler, Response } from 'express';
import { send, success } from '../answer.ts';
import { exchangeOf } from '../exchange.ts';
import type { Observe } from '../observe.ts';

/** Lets pages of the configured origins read the response, errors included. `*` allows any origin. */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  const any = origins.includes('*');
  return (request: Request, response: Response, next) => {
    const { origin } = request.headers;
    if (!any) response.setHeader('Vary', 'Origin');
    if (origin !== undefined && (any || origins.includes(origin))) {
      response.setHeader('Access-Control-Allow-Origin', any ? '*' : origin);
      response.setHeader('Access-Control-Expose-Headers', 'X-Request-Id, Retry-After');
    }
    next();
  };
}

/** Answers preflight requests. Must run after allowOrigins. */
export function answerPreflight(
  observe: Pick<Observe, 'requestAnswered'>,
  method: 'GET' | 'POST',
): RequestHandler {
  return (_request: Request, response: Response) => {
    if (response.hasHeader('Access-Control-Allow-Origin')) {
      response.setHeader('Access-Control-Allow-Methods', method);
      response.setHeader('Access-Control-Allow-Headers', 'Content-Type, X-Merchant-Id');
      response.setHeader('Access-Control-Max-Age', '600');
    }
    response.setHeader('Allow', method === 'GET' ? 'GET, HEAD, OPTIONS' : 'POST, OPTIONS');
    send(response, success(null));
    observe.requestAnswered(exchangeOf(response), 200);
  };
}
