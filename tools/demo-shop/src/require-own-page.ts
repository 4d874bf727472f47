import type { Request, RequestHandler } from 'express';
import { isLoopback } from '@opentill/domain/loopback';
import { RequestRefusal } from './request-refusal.ts';

/**
 * Rejects changes that a page of another site asked for; programs send neither header. Also rejects requests for
 * another host: a foreign name that resolves to this machine (DNS rebinding) would let another site read the keys of
 * the devnet page. The gateway reaches the shop's container by its name, to deliver callbacks.
 */
export const requireOwnPage: RequestHandler = (req, _res, next) => {
  const isCallback = req.method === 'POST' && req.path === '/callbacks';
  if (!isCallback && !isOwnHost(req))
    throw new RequestRefusal(403, 'Open the shop at localhost, on the machine that it runs on.');
  if (req.method !== 'GET' && req.method !== 'HEAD' && !isOwnPage(req))
    throw new RequestRefusal(
      403,
      'This form was sent by a page of another site. Open the shop and try again.',
    );
  next();
};

function isOwnHost({ headers }: Pick<Request, 'headers'>): boolean {
  const hostname = headers.host === undefined ? undefined : URL.parse(`http://${headers.host}`)?.hostname;
  return hostname !== undefined && isLoopback(hostname);
}

function isOwnPage({ headers }: Pick<Request, 'headers'>): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  return origin === undefined || URL.parse(origin)?.host === host;
}
