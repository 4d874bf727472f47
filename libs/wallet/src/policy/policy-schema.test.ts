import { expect, test } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { POLICY_SCHEMA } from './policy-schema.ts';

/** readPolicyFile trusts it. */
test('the schema of a policy is JSON Schema', () => {
  expect(new Ajv2020().validateSchema(POLICY_SCHEMA)).toBe(true);
});
