import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { OPS_OPERATIONS, OPS_ROUTES } from './catalog.ts';
import { OPS_OPENAPI_DOCUMENT } from './openapi.ts';
import { answerEnvelope, type OpsRoute } from './route.ts';

const GOLDEN = new URL('../../golden/openapi-ops.json', import.meta.url);
const routes = Object.entries(OPS_ROUTES) as readonly (readonly [string, OpsRoute])[];

test('golden: the ops OpenAPI document equals openapi-ops.json', async () => {
  const document = `${JSON.stringify(OPS_OPENAPI_DOCUMENT, null, 2)}\n`;
  if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(GOLDEN, document);
  expect(document).toBe(await readFile(GOLDEN, 'utf8'));
});

describe('route catalog', () => {
  test('the catalog has each operation once by method and path', () => {
    const places = routes.map(([, route]) => `${route.method} ${route.path}`);
    expect(new Set(places).size).toBe(places.length);
    expect(OPS_OPERATIONS.length).toBeGreaterThan(40);
  });

  const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
  ajvFormats.default(ajv);

  test.each(routes)('%s has valid schemas and unique, complete parameter names', (_id, route) => {
    const parts = [route.params, route.query, ...(route.body === undefined ? [] : [route.body])];
    for (const schema of [...parts, answerEnvelope(route)])
      expect(ajv.compile(schema)).toBeInstanceOf(Function);
    const names = parts.flatMap((schema) => Object.keys(schema['properties'] as object));
    expect(new Set(names).size).toBe(names.length);
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    expect(Object.keys(route.params['properties'] as object)).toEqual(inPath);
    expect(route.roles.length).toBeGreaterThan(0);
  });

  test('only acts change state, and an ADMIN may call every route', () => {
    for (const [, route] of routes) {
      if (route.kind === 'ACT') expect(route.method).not.toBe('GET');
      else expect(route.method).toBe('GET');
      expect(route.roles).toContain('ADMIN');
    }
  });
});
