import type { JsonSchema } from '@opentill/contracts/http/schemas';
import { escapeHtml } from '../routes/escape-html.ts';
import { fieldsTable, refName, typeOf } from './describe-schema.ts';
import { folded, listing, prose, table } from './markup.ts';
import { SIGN_ORDER_ID } from './render-start.ts';
import { SAMPLE_SIGN, sampleValue } from './sample-value.ts';

/** Subset of OpenAPI's operation object that this API uses. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters: readonly { name: string; in: string; required: boolean; description: string }[];
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: JsonSchema } };
  };
  readonly responses: Readonly<Record<string, ApiResponse>>;
}

interface ApiResponse {
  readonly description: string;
  readonly content?: {
    readonly 'application/json'?: {
      readonly schema: JsonSchema;
      readonly examples?: Readonly<Record<string, unknown>>;
    };
  };
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

/** Renders an operation, or a callback of the gateway, as a section of the reference. */
export function renderOperation(path: string, verb: string, operation: Operation, schemas: Schemas): string {
  const { operationId, summary, description, parameters, requestBody } = operation;
  const parts = [
    `<section id="${operationId}"><h2><span class="verb ${verb}">${verb.toUpperCase()}</span> <code>${escapeHtml(path)}</code></h2>`,
    `<p><strong>${prose(summary)}.</strong> ${prose(description ?? '')}</p>`,
  ];
  if (parameters.length > 0)
    parts.push(
      '<h3>Parameters</h3>',
      table(
        `Parameters of ${operationId}`,
        ['Name', 'In', 'Required', 'Meaning'],
        parameters.map((one) => [
          `<code>${escapeHtml(one.name)}</code>`,
          one.in,
          one.required ? 'yes' : 'no',
          prose(one.description),
        ]),
      ),
    );
  if (requestBody !== undefined)
    parts.push(renderBody(operationId, requestBody.content['application/json'].schema, schemas));
  if (verb === 'get')
    parts.push('<h3>Example</h3>', listing(`How to call ${operationId}`, exampleOf(path, operation)));
  const isCallback = !path.startsWith('/');
  parts.push(isCallback ? renderReactions(operation) : renderAnswers(operation, schemas), '</section>');
  return parts.join('\n');
}

/** Schema of `data` when the request body is an envelope; undefined for any other body. */
function dataSchema(body: JsonSchema): JsonSchema | undefined {
  const [, enveloped] = (body['allOf'] ?? []) as readonly JsonSchema[];
  return (enveloped?.['properties'] as { readonly data?: JsonSchema } | undefined)?.data;
}

function renderBody(operationId: string, body: JsonSchema, schemas: Schemas): string {
  const data = dataSchema(body);
  const name = refName(data ?? body) ?? '';
  const schema = schemas[name] ?? {};
  const about = typeof schema['description'] === 'string' ? prose(schema['description']) : '';
  const sample = sampleValue(schema, schemas);
  const envelope = {
    sign: SAMPLE_SIGN,
    timestamp: 1_795_262_400,
    nonce: '9b2f63d0-7a4e-4e0d-a7f4-6ea6a4e7d3f1',
    data: sample,
  };
  return [
    data === undefined
      ? `<h3>Body</h3><p>${about}</p>`
      : `<h3>Body</h3><p>A <a href="#RequestEnvelope">RequestEnvelope</a> whose <code>data</code> has these fields. ${about}</p>`,
    fieldsTable(`Body of ${operationId}`, schema),
    listing(
      `Example of a body of ${operationId}`,
      JSON.stringify(data === undefined ? sample : envelope, null, 2),
    ),
  ].join('\n');
}

/** Command that calls a GET. Its variables are set in the section of the first payment. */
function exampleOf(path: string, { operationId, parameters }: Operation): string {
  const asks = (name: string) => parameters.some((one) => one.name === name && one.in === 'query');
  const query = [asks('orderId') ? 'orderId=$ORDER' : '', asks('sign') ? 'sign=$SIGN' : '']
    .filter((part) => part !== '')
    .join('&');
  const url = `$GATEWAY${path.replace('{orderId}', '$ORDER')}${query === '' ? '' : `?${query}`}`;
  const call = `curl ${operationId === 'events' ? '-sN' : '-s'} "${url}"`;
  return asks('sign') ? `${SIGN_ORDER_ID}\n${call}` : call;
}

/** Answers of a success. The errors of all operations are one table. */
function renderAnswers({ operationId, responses }: Operation, schemas: Schemas): string {
  const errors = Object.keys(responses).filter((status) => status !== '200');
  const success = responses['200']?.content?.['application/json']?.schema;
  const data = (success?.['properties'] as { readonly data?: JsonSchema } | undefined)?.data;
  const shown =
    data === undefined
      ? ''
      : `<p><code>data</code> of a success: ${typeOf(data)}</p>\n${folded(
          'Example',
          listing(
            `Example of an answer of ${operationId}`,
            JSON.stringify({ code: 200, msg: 'success', data: sampleValue(data, schemas) }, null, 2),
          ),
        )}`;
  return `<h3>Answers</h3>${shown}<p><a href="#errors">Errors</a>: ${errors.join(', ')}</p>`;
}

/** Meaning of a merchant's answers for the gateway. */
function renderReactions({ operationId, responses }: Operation): string {
  const rows = Object.entries(responses).map(([status, { description }]) => [status, prose(description)]);
  return `<h3>Your answer</h3>${table(`Your answers to ${operationId}`, ['Status', 'Effect'], rows)}`;
}
