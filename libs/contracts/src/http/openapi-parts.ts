import type { ApiErrorCode } from './api-errors.ts';
import { ref } from './responses.ts';
import type { ApiSchemaName } from './schemas.ts';

export const SIGNED_POST: readonly ApiErrorCode[] = [
  'BODY_NOT_JSON',
  'DATA_BLANK',
  'SIGN_BLANK',
  'TIMESTAMP_BLANK',
  'NONCE_BLANK',
  'SIGN_WRONG',
  'TIMESTAMP_EXPIRED',
  'NONCE_USED',
  'MERCHANT_UNNAMED',
  'BODY_TOO_LARGE',
  'MEDIA_TYPE_UNSUPPORTED',
];

export function requestBody(data: ApiSchemaName): object {
  return {
    required: true,
    content: {
      'application/json': {
        schema: {
          allOf: [ref('RequestEnvelope'), { type: 'object', properties: { data: ref(data) } }],
        },
      },
    },
  };
}

export function parameter(
  name: string,
  place: 'query' | 'path' | 'header',
  required: boolean,
  description: string,
) {
  return { name, in: place, required, description, schema: { type: 'string' } };
}

export const merchantId = parameter(
  'X-Merchant-Id',
  'header',
  false,
  'Names the merchant, for clients whose base URL does not. Without either, the signature is checked against the oldest merchants of the gateway, up to a configured number.',
);
