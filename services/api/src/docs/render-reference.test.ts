import { expect, it } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { API_ERRORS } from '@opentill/contracts/http/api-errors';
import { OPENAPI_DOCUMENT } from '@opentill/contracts/http/openapi';
import { API_SCHEMAS } from '@opentill/contracts/http/schemas';
import { escapeHtml } from '../routes/escape-html.ts';
import { renderReference } from './render-reference.ts';
import { sampleValue } from './sample-value.ts';

const html = renderReference();
const ids = [...html.matchAll(/ id="(?<id>[^"]+)"/g)].map((match) => match.groups?.['id'] ?? '');

it('gives each operation, callback and schema a section that links lead to', () => {
  const operations = [OPENAPI_DOCUMENT.paths, OPENAPI_DOCUMENT.webhooks].flatMap((group) =>
    Object.values(group).flatMap((verbs) => Object.values(verbs as object) as { operationId: string }[]),
  );
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(operations.map(({ operationId }) => operationId)));
  expect(ids).toEqual(expect.arrayContaining(Object.keys(API_SCHEMAS)));
  const targets = [...html.matchAll(/href="#(?<id>[^"]+)"/g)].map((match) => match.groups?.['id'] ?? '');
  expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
});

it('shows every field of every schema and every error text', () => {
  for (const schema of Object.values(API_SCHEMAS) as { properties?: object }[])
    for (const field of Object.keys(schema.properties ?? {})) expect(html).toContain(`<code>${field}</code>`);
  const refusals = JSON.stringify(OPENAPI_DOCUMENT.paths);
  for (const { msg } of Object.values(API_ERRORS))
    if (refusals.includes(JSON.stringify(msg))) expect(html).toContain(escapeHtml(msg));
});

it('shows examples that are valid for their schemas', () => {
  const ajv = new Ajv2020({ allowUnionTypes: true, strictRequired: false });
  ajvFormats.default(ajv);
  ajv.addVocabulary(['components']);
  ajv.addSchema({ $id: 'api', components: { schemas: API_SCHEMAS } });
  const shown = [...html.matchAll(/aria-label="Example[^"]*"><code>(?<text>[^]*?)<\/code>/g)];
  expect(shown.length).toBeGreaterThan(6);
  for (const [name, schema] of Object.entries(API_SCHEMAS)) {
    const resolved = JSON.parse(
      JSON.stringify({ $ref: `#/components/schemas/${name}` }).replaceAll('"#/', '"api#/'),
    ) as object;
    const check = ajv.compile(resolved);
    if (name === 'ErrorEnvelope') continue; // its texts are shown instead
    check(sampleValue(schema, API_SCHEMAS));
    expect([name, check.errors]).toEqual([name, null]);
  }
});

it('loads no resource and runs no script', () => {
  expect(html).not.toMatch(/<script|<link|<img|<iframe|src=|@import|url\(| on\w+=/);
});
