import { createHash } from 'node:crypto';
import { OPENAPI_DOCUMENT } from '@opentill/contracts/http/openapi';
import { page, type Answer } from '../answer.ts';
import { renderReference } from '../docs/render-reference.ts';
import { REFERENCE_STYLE } from '../docs/style.ts';

const DOCS_CSP = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(REFERENCE_STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** GET /docs: the OpenAPI document as one HTML page without scripts, rendered once. */
export function docsAnswer(): Answer {
  return page(200, renderReference(), DOCS_CSP);
}

export function openApiAnswer(): Answer {
  return { status: 200, body: JSON.stringify(OPENAPI_DOCUMENT) };
}
