import type { Request, RequestHandler } from 'express';
import { RequestRefusal } from './request-refusal.ts';

/** Rejects changes that a page of another site asked for. Programs send neither header. */
export const requireOwnPage: RequestHandler = (req, _res, next) => {
  if (req.method !== 'GET' && req.method !== 'HEAD' && !isOwnPage(req))
    throw new RequestRefusal(
      403,
      'This form was sent by a page of another site. Open the shop and try again.',
    );
  next();
};

function isOwnPage({ headers }: Pick<Request, 'headers'>): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  return origin === undefined || URL.parse(origin)?.host === host;
}
