import type { JsonObject } from '@opentill/contracts/signing/json-value';
import type { Answer } from '../answer.ts';
import { authenticatePost } from '../authenticate.ts';
import { readClosing, readLinkFields, readLinkId, readLinkPage } from '../link-fields.ts';
import { rejectAndSpendNonce } from '../operations/create-once.ts';
import {
  closeLink,
  createLink,
  listLinks,
  readLink,
  type LinkDeps,
  type LinkRequest,
} from '../operations/links.ts';
import type { FieldRules } from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import { rulesFor, type OrderRouteDeps, type Route } from './order-routes.ts';

interface LinkOperation<Fields extends object> {
  readonly read: (data: JsonObject, rules: FieldRules) => Fields | Problem;
  readonly run: (deps: LinkDeps, request: LinkRequest<Fields>) => Promise<Answer>;
}

/** The operations on payment links, by path. */
export function linkRoutes(deps: OrderRouteDeps): readonly (readonly [path: string, Route])[] {
  return [
    linkRoute(deps, '/v1/link/create', { read: readLinkFields, run: createLink }),
    linkRoute(deps, '/v1/link/read', { read: readLinkId, run: readLink }),
    linkRoute(deps, '/v1/link/list', { read: readLinkPage, run: listLinks }),
    linkRoute(deps, '/v1/link/close', { read: readClosing, run: closeLink }),
  ];
}

function linkRoute<Fields extends object>(
  deps: OrderRouteDeps,
  path: string,
  { read, run }: LinkOperation<Fields>,
): readonly [string, Route] {
  const route: Route = async (request, exchange) => {
    const signed = await authenticatePost(deps, request, exchange, { endpoint: 'link', path });
    if (signed === undefined || 'status' in signed) return signed;
    const { merchant, nonce, data } = signed;
    const fields = read(data, rulesFor(merchant, deps));
    return 'code' in fields
      ? rejectAndSpendNonce(deps, nonce, fields as Problem)
      : run(deps, { merchant, nonce, fields });
  };
  return [path, route];
}
