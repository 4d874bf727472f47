import { OPENAPI_DOCUMENT } from '@opentill/contracts/http/openapi';
import type { JsonSchema } from '@opentill/contracts/http/schemas';
import { escapeHtml } from '../routes/escape-html.ts';
import { fieldsTable } from './describe-schema.ts';
import { listing, prose } from './markup.ts';
import { renderOperation, type Operation, type Schemas } from './render-operation.ts';
import { REFERENCE_STYLE } from './style.ts';

/** An operation with its path, or with the merchant's callback URL. */
interface Placed {
  readonly path: string;
  readonly verb: string;
  readonly operation: Operation;
}

const SIGNING = `DATA='{"orderId":"order-1001","amount":"25.00","symbol":"USDT","chain":"ETH_SEPOLIA"}'
SIGN=$(printf %s "$DATA" | openssl dgst -sha256 -hmac "$TOKEN" -r | cut -d' ' -f1)
curl -s "$GATEWAY/v1/order/createCollection" -H 'content-type: application/json' \\
  -d "{\\"sign\\":\\"$SIGN\\",\\"timestamp\\":$(date +%s),\\"nonce\\":\\"$(date +%s%N)\\",\\"data\\":$DATA}"`;

/** Renders the OpenAPI document as one HTML page without scripts or external resources. */
export function renderReference(document: typeof OPENAPI_DOCUMENT = OPENAPI_DOCUMENT): string {
  const { info, paths, webhooks, components, tags } = document;
  const schemas: Schemas = components.schemas;
  const placed: readonly Placed[] = [
    ...place(paths, (path) => path),
    ...place(webhooks, () => 'your callback URL'),
  ];
  const ofTag = (tag: string) => placed.filter(({ operation }) => operation.tags[0] === tag);
  const links = tags.map(
    ({ name }) =>
      `<p>${name}</p><ul>${ofTag(name)
        .map(({ operation: { operationId } }) => `<li><a href="#${operationId}">${operationId}</a></li>`)
        .join('')}</ul>`,
  );
  const names = Object.keys(schemas).map((name) => `<li><a href="#${name}">${name}</a></li>`);
  const operations = tags.flatMap(({ name }) =>
    ofTag(name).map(({ path, verb, operation }) => renderOperation(path, verb, operation, schemas)),
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(info.title)}</title><style>${REFERENCE_STYLE}</style></head><body>
<nav aria-label="Contents"><p><a href="#top">${escapeHtml(info.title)}</a></p><ul><li><a href="#signing">Signing</a></li></ul>
${links.join('\n')}<p>Schemas</p><ul>${names.join('')}</ul></nav>
<main id="top"><h1>${escapeHtml(info.title)}</h1><p>${prose(info.description)}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI ${document.openapi}).</p>
<section id="signing"><h2>Signing</h2><p>${prose(
    'A POST is signed over its `data`, a GET over its `orderId`: HMAC-SHA256 with the merchant token as key, in hex. The signed text is `data` exactly as sent, without spaces. `GATEWAY` is the base URL of the merchant, such as `https://pay.example.com/m/shop-1`. With a shell:',
  )}</p>${listing('How to sign', SIGNING)}</section>
${operations.join('\n')}
${Object.entries(schemas)
  .map(([name, schema]) => renderSchema(name, schema))
  .join('\n')}
</main></body></html>
`;
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
  return `<section id="${name}"><h2>${name}</h2>${about}${fieldsTable(`Fields of ${name}`, schema)}</section>`;
}
