import { expect, test } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { EVENT_CATALOG } from './event-catalog.ts';

/** Consumers validate envelopes against these schemas without checking the schemas themselves. */
test.each(Object.entries(EVENT_CATALOG))('the schema for the data of %s is valid JSON Schema', (_, event) => {
  expect(new Ajv2020().validateSchema(event.data)).toBe(true);
});
