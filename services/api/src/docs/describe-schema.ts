import type { JsonSchema } from '@opentill/contracts/http/schemas';
import { escapeHtml } from '../routes/escape-html.ts';
import { prose, table } from './markup.ts';

const REF = '#/components/schemas/';

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;
const schemasIn = (value: unknown): readonly JsonSchema[] =>
  Array.isArray(value) ? value.filter(isSchema) : [];

/** Name of a referenced schema; undefined when the schema is not a reference. */
export function refName(schema: JsonSchema): string | undefined {
  const { $ref } = schema;
  return typeof $ref === 'string' && $ref.startsWith(REF) ? $ref.slice(REF.length) : undefined;
}

/** Type in a few words: `string or null`, a link to another schema, `list of …`. */
export function typeOf(schema: JsonSchema): string {
  const name = refName(schema);
  if (name !== undefined) return `<a href="#${name}">${name}</a>`;
  const either = schemasIn(schema['anyOf']);
  if (either.length > 0) return either.map(typeOf).join(' or ');
  const { const: only, items, format } = schema;
  if (only !== undefined) return `<code>${escapeHtml(JSON.stringify(only))}</code>`;
  if (schema['type'] === 'array' && isSchema(items)) return `list of ${typeOf(items)}`;
  const { type = 'any' } = schema;
  const types = (Array.isArray(type) ? type : [type])
    .filter((one) => typeof one === 'string')
    .map(escapeHtml);
  return `${types.join(' or ')}${typeof format === 'string' ? ` (${escapeHtml(format)})` : ''}`;
}

/** Constraints of a value in addition to its type. */
function rulesOf(schema: JsonSchema): readonly string[] {
  const code = (value: unknown) => `<code>${escapeHtml(String(value))}</code>`;
  const { enum: values, pattern, minimum, maximum, maxLength } = schema;
  return [
    ...(Array.isArray(values) ? [`one of ${values.map(code).join(' ')}`] : []),
    ...(typeof pattern === 'string' ? [`matches ${code(pattern)}`] : []),
    ...(typeof minimum === 'number' && minimum !== 0 ? [`from ${minimum}`] : []),
    ...(typeof maximum === 'number' ? [`up to ${maximum}`] : []),
    ...(typeof maxLength === 'number' ? [`at most ${maxLength} characters`] : []),
    ...schemasIn(schema['anyOf']).flatMap(rulesOf),
  ];
}

/** Table of an object's members. @param label accessible name of the table */
export function fieldsTable(label: string, schema: JsonSchema): string {
  const { properties = {}, required } = schema;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  const rows = Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, field]) => {
    const { description } = field;
    const about = [
      ...(typeof description === 'string' ? [prose(description)] : []),
      ...rulesOf(field).map((rule) => `<span class="rule">${rule}</span>`),
    ];
    return [
      `<code>${escapeHtml(name)}</code>`,
      typeOf(field),
      isRequired(name) ? 'yes' : 'no',
      about.join('<br>'),
    ];
  });
  return table(label, ['Field', 'Type', 'Required', 'Meaning'], rows);
}
