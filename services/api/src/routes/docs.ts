import { createHash } from 'node:crypto';
import { OPENAPI_DOCUMENT } from '@opentill/contracts/http/openapi';
import { page, type Answer } from '../answer.ts';
import type { DocsFacts, LocalFacts } from '../docs/docs-facts.ts';
import { FAVICON } from '../docs/favicon.ts';
import { PAGE_SCRIPT } from '../docs/page-script.ts';
import { renderReference } from '../docs/render-reference.ts';
import { REFERENCE_STYLE } from '../docs/style.ts';

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

/** GET /docs: the way to a first payment, and the OpenAPI document, as one HTML page. */
export function docsRoute({ docs }: DocsDeps): () => Answer {
  const render = (local: LocalFacts | undefined) => page(200, renderReference({ ...docs, local }), DOCS_CSP);
  const { local } = docs;
  if (local !== undefined) return () => render(local());
  const rendered = render(undefined);
  return () => rendered;
}

export function openApiAnswer(): Answer {
  return { status: 200, body: JSON.stringify(OPENAPI_DOCUMENT) };
}

export function faviconAnswer(): Answer {
  return { status: 200, body: FAVICON, contentType: 'image/svg+xml' };
}

/** GET /: leads to the documents, also behind a proxy that serves the API under a path. */
export function rootAnswer(): Answer {
  return { status: 302, body: '', contentType: 'text/plain; charset=utf-8', headers: { Location: 'docs' } };
}
