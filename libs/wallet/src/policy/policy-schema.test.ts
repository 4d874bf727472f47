import { expect, test } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { POLICY_SCHEMA } from './policy-schema.ts';

/** readPolicyFile compiles the schema without validating it. */
test('POLICY_SCHEMA is valid JSON Schema', () => {
  expect(new Ajv2020().validateSchema(POLICY_SCHEMA)).toBe(true);
});
