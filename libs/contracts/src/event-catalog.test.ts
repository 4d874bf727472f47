import { expect, test } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { EVENT_CATALOG } from './event-catalog.ts';

/** Readers of envelopes trust them. */
test.each(Object.entries(EVENT_CATALOG))('the data of %s are described by JSON Schema', (_, event) => {
  expect(new Ajv2020().validateSchema(event.data)).toBe(true);
});
