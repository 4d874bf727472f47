import { expect, test } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { NETWORK_FILE_SCHEMA } from './network-file-schema.ts';

/** parseNetworkFile does not validate the schema itself. */
test('the schema of a network file is valid JSON Schema', () => {
  const ajv = new Ajv2020();
  expect(ajv.validateSchema(NETWORK_FILE_SCHEMA)).toBe(true);
  expect(ajv.validateSchema({ ...NETWORK_FILE_SCHEMA, type: 'list' })).toBe(false);
});
