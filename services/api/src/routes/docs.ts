import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { OPENAPI_DOCUMENT } from '@opentill/contracts/http/openapi';
import { isLoopback } from '@opentill/domain/loopback';
import { page, type Answer } from '../answer.ts';
import type { DocsFacts, LocalFacts } from '../docs/docs-facts.ts';
import { FAVICON } from '../docs/favicon.ts';
import { FIRST_GUIDE, type Guides } from '../docs/guides.ts';
import { PAGE_SCRIPT } from '../docs/page-script.ts';
import { renderGuide } from '../docs/render-guide.ts';
import { renderReference } from '../docs/render-reference.ts';
import { REFERENCE_STYLE } from '../docs/style.ts';
import { readGuides } from '../read-guides.ts';
import type { Route } from './order-routes.ts';

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const DOCS_CSP = [
  "default-src 'none'",
  `style-src ${hashOf(REFERENCE_STYLE)}`,
  `script-src ${hashOf(PAGE_SCRIPT)}`,
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface DocsDeps {
  readonly docs: Pick<DocsFacts, 'gatewayUrl' | 'asset'> & {
    /** Undefined except in the local profile. */
    readonly local: (() => LocalFacts) | undefined;
  };
}

function isOfThisMachine(url: string | undefined): boolean {
  const name = url === undefined ? undefined : URL.parse(url)?.hostname;
  return name !== undefined && isLoopback(name);
}

/**
 * Only a gateway that serves this machine shows its token, and only under a name of this machine: a foreign name that
 * resolves to it (DNS rebinding) would let another site read the page. A proxy may replace the host of a request, so
 * the public URL counts too.
 */
export function mayShowToken(host: string | undefined, gatewayUrl: string | undefined): boolean {
  return isOfThisMachine(gatewayUrl) && host !== undefined && isOfThisMachine(`http://${host}`);
}

/** GET /docs: the way to a first payment, and the OpenAPI document, as one HTML page. */
export function docsRoute({ docs }: DocsDeps): (request: Pick<Request, 'headers'>) => Answer {
  const { local, ...facts } = docs;
  const { gatewayUrl } = facts;
  const openAt = local !== undefined && isOfThisMachine(gatewayUrl) ? `${gatewayUrl}/docs` : undefined;
  const render = (filled: LocalFacts | undefined) =>
    page(200, renderReference({ ...facts, local: filled, openAt }), DOCS_CSP);
  const rendered = render(undefined);
  if (local === undefined) return () => rendered;
  return ({ headers }) => (mayShowToken(headers.host, gatewayUrl) ? render(local()) : rendered);
}

/** Links of a page are relative, so it has one address only. */
export function withoutSlash(route: Route): Route {
  return (request, exchange) => {
    const last = /([^/]+)\/$/.exec(request.path)?.[1];
    return last === undefined ? route(request, exchange) : redirectTo(`../${last}`);
  };
}

/** GET /docs/guides/<path>: a document of the repository. Undefined for an unknown one. */
export function guideRoute(): (path: readonly string[]) => Answer | undefined {
  let guides: Guides | undefined;
  return (segments) => {
    guides ??= readGuides();
    const path = segments.join('/');
    const guide = Object.hasOwn(guides, path) ? guides[path] : undefined;
    return guide && page(200, renderGuide(path, guide), DOCS_CSP);
  };
}

/** GET /docs/guides: leads to the table of contents. */
export function guidesAnswer(): Answer {
  return redirectTo(`guides/${FIRST_GUIDE}`);
}

export function openApiAnswer(): Answer {
  return { status: 200, body: JSON.stringify(OPENAPI_DOCUMENT) };
}

export function faviconAnswer(): Answer {
  return { status: 200, body: FAVICON, contentType: 'image/svg+xml' };
}

/** GET /: leads to the documents, also behind a proxy that serves the API under a path. */
export function rootAnswer(): Answer {
  return redirectTo('docs');
}

/** @param location relative, for a gateway behind a path */
function redirectTo(location: string): Answer {
  return { status: 302, body: '', contentType: 'text/plain; charset=utf-8', headers: { Location: location } };
}
