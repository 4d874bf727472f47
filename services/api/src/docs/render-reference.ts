import { OPENAPI_DOCUMENT } from '@opentill/contracts/http/openapi';
import type { JsonSchema } from '@opentill/contracts/http/schemas';
import { escapeHtml } from '../routes/escape-html.ts';
import { fieldsTable } from './describe-schema.ts';
import type { DocsFacts } from './docs-facts.ts';
import { folded, prose } from './markup.ts';
import { PAGE_SCRIPT } from './page-script.ts';
import { renderErrors } from './render-errors.ts';
import { renderLimits } from './render-limits.ts';
import { renderOperation, type Operation, type Schemas } from './render-operation.ts';
import { renderGuides, renderSigning, renderStart, renderVerify } from './render-start.ts';
import { renderStates } from './render-states.ts';
import { REFERENCE_STYLE } from './style.ts';

/** An operation with its path, or with the merchant's callback URL. */
interface Placed {
  readonly path: string;
  readonly verb: string;
  readonly operation: Operation;
}

const GUIDE_LINKS = [
  ['start', 'The first payment'],
  ['signing', 'Signing'],
  ['verify', 'Verify callbacks'],
  ['states', 'States of an order'],
  ['limits', 'Rate limits'],
  ['errors', 'Errors'],
  ['guides', 'Guides and SDK'],
] as const;

/** Renders the OpenAPI document, and the way to a first payment, as one HTML page without external resources. */
export function renderReference(
  facts: DocsFacts,
  document: typeof OPENAPI_DOCUMENT = OPENAPI_DOCUMENT,
): string {
  const { info, paths, webhooks, components, tags } = document;
  const schemas: Schemas = components.schemas;
  const called = place(paths, (path) => path);
  const placed = [...called, ...place(webhooks, () => 'your callback URL')];
  const ofTag = (tag: string) => placed.filter(({ operation }) => operation.tags[0] === tag);
  const operations = tags.flatMap(({ name }) =>
    ofTag(name).map(({ path, verb, operation }) => renderOperation(path, verb, operation, schemas)),
  );
  const menu = [
    linkList('Guide', GUIDE_LINKS),
    ...tags.map(({ name }) =>
      linkList(
        name,
        ofTag(name).map(({ operation: { operationId } }) => [operationId, operationId]),
      ),
    ),
    linkList(
      'Schemas',
      Object.keys(schemas).map((name) => [name, name]),
    ),
  ];
  const title = escapeHtml(info.title);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title><link rel="icon" href="favicon.svg" type="image/svg+xml"><style>${REFERENCE_STYLE}</style></head><body>
<nav aria-label="Contents"><details class="menu"><summary>Contents</summary><p><a href="#top">${title}</a></p>${menu.join('\n')}</details></nav>
<main id="top"><h1>${title}</h1><p>${prose(info.description)}</p>
${renderStart(facts)}
${renderSigning(facts)}
${renderVerify(facts)}
${renderStates()}
${renderLimits()}
${renderErrors(
  called.map(({ operation }) => operation),
  schemas['ErrorEnvelope'] ?? {},
)}
${renderGuides()}
${operations.join('\n')}
${Object.entries(schemas)
  .map(([name, schema]) => renderSchema(name, schema))
  .join('\n')}
<p id="copied" role="status"></p></main><script>${PAGE_SCRIPT}</script></body></html>
`;
}

function linkList(heading: string, links: readonly (readonly [id: string, text: string])[]): string {
  const items = links.map(([id, text]) => `<li><a href="#${id}">${text}</a></li>`);
  return `<p>${heading}</p><ul>${items.join('')}</ul>`;
}

function place(group: object, pathOf: (name: string) => string): readonly Placed[] {
  const entries = Object.entries(group as Readonly<Record<string, Readonly<Record<string, Operation>>>>);
  return entries.flatMap(([name, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ path: pathOf(name), verb, operation })),
  );
}

function renderSchema(name: string, schema: JsonSchema): string {
  const { description } = schema;
  const about = typeof description === 'string' ? `<p>${prose(description)}</p>` : '';
  return `<section id="${name}"><h2>${name}</h2>${about}${folded('Fields', fieldsTable(`Fields of ${name}`, schema))}</section>`;
}
