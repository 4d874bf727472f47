import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { API_ERRORS } from './api-errors.ts';
import { OPENAPI_DOCUMENT } from './openapi.ts';
import { DEFAULT_RATE_LIMITS, RATE_LIMIT_OVERRIDES_SCHEMA, readRateLimitOverrides } from './rate-limits.ts';
import { API_SCHEMAS } from './schemas.ts';

const GOLDEN = new URL('../../golden/openapi.json', import.meta.url);

describe('OpenAPI document', () => {
  test('golden: the OpenAPI document equals openapi.json', async () => {
    const document = `${JSON.stringify(OPENAPI_DOCUMENT, null, 2)}\n`;
    if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(GOLDEN, document);
    expect(document).toBe(await readFile(GOLDEN, 'utf8'));
  });

  test('the OpenAPI document refers only to existing schemas', () => {
    const names = [...JSON.stringify(OPENAPI_DOCUMENT).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
      (m) => m[1],
    );
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) expect(Object.keys(API_SCHEMAS)).toContain(name);
  });

  test('all schemas of the OpenAPI document compile', () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false });
    ajv.addVocabulary(['components']);
    ajv.addFormat('uri', true);
    ajv.addSchema({ $id: 'api', components: { schemas: API_SCHEMAS } });
    for (const name of Object.keys(API_SCHEMAS)) {
      const resolved = JSON.parse(
        JSON.stringify({ $ref: `#/components/schemas/${name}` }).replaceAll('"#/', '"api#/'),
      ) as object;
      expect(ajv.compile(resolved)).toBeInstanceOf(Function);
    }
  });

  test('each operation lists its refusals with their texts', () => {
    const create = OPENAPI_DOCUMENT.paths['/v1/order/createPayout'].post.responses as Record<string, object>;
    expect(Object.keys(create)).toEqual([
      '200',
      '400',
      '401',
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ]);
    expect(JSON.stringify(create)).toContain(API_ERRORS.RECEIVE_ADDRESS_WRONG.msg);
  });
});

describe('rate limits of a merchant', () => {
  const ajv = new Ajv2020({ strict: true });

  test('valid limits are kept and invalid ones are dropped', () => {
    expect(readRateLimitOverrides(null)).toEqual({});
    expect(readRateLimitOverrides('x')).toEqual({});
    const column = {
      createCollection: { requests: 5, seconds: 1 },
      createPayout: { requests: 0, seconds: 1 },
      pay: { requests: 1.5, seconds: 1 },
      status: 'many',
      other: { requests: 1, seconds: 1 },
    };
    expect(readRateLimitOverrides(column)).toEqual({ createCollection: { requests: 5, seconds: 1 } });
  });

  test('the schema accepts the limits that the reader keeps', () => {
    const validate = ajv.compile(RATE_LIMIT_OVERRIDES_SCHEMA);
    expect(validate(DEFAULT_RATE_LIMITS)).toBe(true);
    expect(readRateLimitOverrides(DEFAULT_RATE_LIMITS)).toEqual(DEFAULT_RATE_LIMITS);
    expect(validate({ pay: { requests: 0, seconds: 1 } })).toBe(false);
    expect(validate({ unknown: { requests: 1, seconds: 1 } })).toBe(false);
  });
});

test('the default limits are the documented ones', () => {
  expect(DEFAULT_RATE_LIMITS).toEqual({
    createCollection: { requests: 100, seconds: 10 },
    createPayout: { requests: 100, seconds: 10 },
    link: { requests: 100, seconds: 10 },
    status: { requests: 1000, seconds: 10 },
    pay: { requests: 2, seconds: 1 },
    getOrderStatus: { requests: 2, seconds: 1 },
    supportSymbols: { requests: 50, seconds: 10 },
  });
});
