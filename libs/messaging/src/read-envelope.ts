import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { EVENT_CATALOG, type EventEnvelope, type EventType } from '@opentill/contracts/event-catalog';
import { messagingError } from './messaging-error.ts';

/** Far above any event: 500 ids of 19 digits are 11 kB. */
const MAX_BYTES = 256 * 1024;

/** Accepts unknown extra fields. Throws ENVELOPE_UNREADABLE if type, version or data differ from the catalog. */
export function createEnvelopeReader<T extends EventType>(type: T): (content: Buffer) => EventEnvelope<T> {
  const ajv = new Ajv2020({ strict: true, validateSchema: false }); // a test checks the catalog's schemas
  ajvFormats.default(ajv);
  const validate: ValidateFunction<EventEnvelope<T>> = ajv.compile({
    type: 'object',
    additionalProperties: true,
    required: ['id', 'type', 'version', 'occurredAt', 'data'],
    properties: {
      id: { type: 'string', format: 'uuid' },
      type: { const: type },
      version: { const: 1 },
      occurredAt: { type: 'string', format: 'date-time' },
      data: EVENT_CATALOG[type].data,
    },
  });

  return (content) => {
    if (content.byteLength > MAX_BYTES) throw unreadable(type, `more than ${MAX_BYTES} bytes`);
    let parsed: unknown;
    try {
      parsed = JSON.parse(content.toString('utf8'));
    } catch {
      throw unreadable(type, 'not JSON');
    }
    if (!validate(parsed)) throw unreadable(type, ajv.errorsText(validate.errors, { dataVar: 'envelope' }));
    return parsed;
  };
}

function unreadable(type: EventType, problem: string): Error {
  return messagingError('ENVELOPE_UNREADABLE', `not a valid ${type} event: ${problem}`, { type });
}
