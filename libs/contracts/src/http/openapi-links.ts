import type { ApiErrorCode } from './api-errors.ts';
import { merchantId, requestBody, SIGNED_POST } from './openapi-parts.ts';
import { ref, responses } from './responses.ts';
import type { ApiSchemaName } from './schemas.ts';

function operation(
  operationId: string,
  summary: string,
  description: string,
  data: ApiSchemaName,
  success: ApiSchemaName,
  errors: readonly ApiErrorCode[],
) {
  return {
    post: {
      operationId,
      summary,
      description,
      tags: ['Links'],
      parameters: [merchantId],
      requestBody: requestBody(data),
      responses: responses(ref(success), [...SIGNED_POST, ...errors]),
    },
  };
}

export const LINK_PATHS = {
  '/v1/link/create': operation(
    'createLink',
    'Create a link that may be paid many times',
    'Returns the address of its page. Each payment is an order with its `linkId`, opened when a customer continues to the payment. The same linkId with equal values returns the existing link.',
    'CreateLinkData',
    'PaymentLink',
    [
      'AMOUNT_BLANK',
      'AMOUNT_ZERO',
      'AMOUNT_TOO_MANY_DECIMALS',
      'AMOUNT_OUT_OF_RANGE',
      'PRICE_INVALID',
      'CURRENCY_INVALID',
      'SYMBOL_BLANK',
      'CHAIN_BLANK',
      'ACCEPT_INVALID',
      'SYMBOL_UNSUPPORTED',
      'UID_BLANK',
      'UID_ZERO',
      'UID_INVALID',
      'RETURN_URL_INVALID',
      'DESCRIPTION_INVALID',
      'LINK_ID_INVALID',
      'LINK_INVALID',
      'LINK_ID_EXISTS',
    ],
  ),
  '/v1/link/read': operation(
    'readLink',
    'Get a link, with its paid and open orders',
    '',
    'ReadLinkData',
    'PaymentLink',
    ['LINK_ID_INVALID', 'LINK_NOT_FOUND'],
  ),
  '/v1/link/list': operation(
    'listLinks',
    'List the links of the merchant',
    'Newest first.',
    'ListLinksData',
    'PaymentLinks',
    ['LINK_INVALID'],
  ),
  '/v1/link/close': operation(
    'closeLink',
    'Close a link',
    'It opens no more orders, permanently. Its open orders may still be paid.',
    'CloseLinkData',
    'PaymentLink',
    ['LINK_ID_INVALID', 'LINK_INVALID', 'LINK_NOT_FOUND'],
  ),
};
