import { createHash } from 'node:crypto';
import { OPENAPI_DOCUMENT } from '@opentill/contracts/http/openapi';
import type { JsonSchema } from '@opentill/contracts/http/schemas';
import { page, type Answer } from '../answer.ts';
import { escapeHtml } from './escape-html.ts';

const STYLE = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0 auto;max-width:60rem;padding:1rem}
h2{margin-top:2.5rem;border-bottom:1px solid #8886}
.verb{font-weight:700}code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{border:1px solid #8886;border-radius:.4rem;padding:.7rem;overflow-x:auto}
table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #8884;padding:.3rem .5rem;text-align:left;vertical-align:top}`;

const DOCS_CSP = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly { name: string; in: string; required: boolean; description: string }[];
  readonly requestBody?: { content: { 'application/json': { schema: JsonSchema } } };
  readonly responses: Readonly<
    Record<string, { description: string; content: { 'application/json'?: { schema: JsonSchema } } }>
  >;
}

/** Inline code and nothing else of Markdown: that is all the descriptions use. */
function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function schemaNames(schema: JsonSchema): readonly string[] {
  const found = JSON.stringify(schema).matchAll(/#\/components\/schemas\/(\w+)/g);
  return [...new Set([...found].map((match) => match[1] ?? ''))].filter((name) => name !== 'RequestEnvelope');
}

function linksTo(schema: JsonSchema): string {
  return schemaNames(schema)
    .map((name) => `<a href="#${name}">${name}</a>`)
    .join(', ');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]) =>
    row.map((cell) => `<${tag}>${cell}</${tag}>`).join('');
  return `<table><thead><tr>${cells('th', head)}</tr></thead><tbody>${rows
    .map((row) => `<tr>${cells('td', row)}</tr>`)
    .join('')}</tbody></table>`;
}

/** What a success holds; nothing is said of what is no JSON. */
function dataOf(schema: JsonSchema | undefined): string {
  return schema === undefined ? '' : ` · <code>data</code>: ${linksTo(schema)}`;
}

function operationHtml(path: string, verb: string, operation: Operation): string {
  const parameters = operation.parameters.map((each) => [
    `<code>${escapeHtml(each.name)}</code>`,
    each.in,
    each.required ? 'yes' : 'no',
    prose(each.description),
  ]);
  const body = operation.requestBody?.content['application/json'].schema;
  const answers = Object.entries(operation.responses).map(([status, { description, content }]) => [
    status,
    `${escapeHtml(description)}${status === '200' ? dataOf(content['application/json']?.schema) : ''}`,
  ]);
  return `<h2 id="${operation.operationId}"><span class="verb">${verb.toUpperCase()}</span> <code>${escapeHtml(path)}</code></h2>
<p>${prose(operation.summary)}. ${prose(operation.description ?? '')}</p>
${parameters.length === 0 ? '' : table(['Parameter', 'In', 'Required', ''], parameters)}
${body === undefined ? '' : `<p>Body: <a href="#RequestEnvelope">RequestEnvelope</a> with <code>data</code> = ${linksTo(body)}</p>`}
${table(['Status', 'Answer'], answers)}`;
}

function render(): string {
  const { info, paths, components } = OPENAPI_DOCUMENT;
  const operations = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) =>
      operationHtml(path, verb, operation as unknown as Operation),
    ),
  );
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<h2 id="${name}">${name}</h2><pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(info.title)}</title><style>${STYLE}</style></head><body>
<h1>${escapeHtml(info.title)}</h1><p>${prose(info.description)}</p><p><a href="/openapi.json">openapi.json</a> (OpenAPI ${OPENAPI_DOCUMENT.openapi})</p>
${operations.join('\n')}
${schemas.join('\n')}
</body></html>
`;
}

/** GET /docs: the OpenAPI document for people, one page without scripts; made once. */
export function docsAnswer(): Answer {
  return page(200, render(), DOCS_CSP);
}

/** GET /openapi.json. */
export function openApiAnswer(): Answer {
  return { status: 200, body: JSON.stringify(OPENAPI_DOCUMENT) };
}
