import { duplicateOfOrderText, type ApiErrorCode } from './api-errors.ts';
import { LINK_PATHS } from './openapi-links.ts';
import { merchantId, parameter, requestBody, SIGNED_POST } from './openapi-parts.ts';
import { ref, responses } from './responses.ts';
import { API_SCHEMAS, type JsonSchema } from './schemas.ts';

const SIGNED_GET: readonly ApiErrorCode[] = [
  'ORDER_ID_BLANK',
  'SIGN_BLANK',
  'SIGN_WRONG',
  'MERCHANT_UNNAMED',
  'ORDER_NOT_FOUND',
];
const ORDER_FIELDS: readonly ApiErrorCode[] = [
  'AMOUNT_BLANK',
  'AMOUNT_ZERO',
  'AMOUNT_TOO_MANY_DECIMALS',
  'AMOUNT_OUT_OF_RANGE',
  'SYMBOL_BLANK',
  'CHAIN_BLANK',
  'SYMBOL_UNSUPPORTED',
  'UID_BLANK',
  'UID_ZERO',
  'UID_INVALID',
  'ORDER_ID_BLANK',
  'ORDER_ID_INVALID',
  'ORDER_ID_EXISTS',
  'CHAIN_NOT_READY',
];

const orderIdQuery = parameter('orderId', 'query', true, 'Identifier given at creation.');
const signQuery = parameter(
  'sign',
  'query',
  true,
  'Hex HMAC-SHA256 of the orderId with the merchant token as key, or the unchanged `sign` of a `paymentUrl`.',
);
const ownSignQuery = parameter(
  'sign',
  'query',
  true,
  'Hex HMAC-SHA256 of the orderId with the merchant token as key. The `sign` of a `paymentUrl` is not accepted here.',
);

const paths = {
  '/v1/order/createCollection': {
    post: {
      operationId: 'createCollection',
      summary: 'Create an order to receive a payment',
      description:
        'Returns a new deposit address and a checkout URL. The same orderId with equal values returns the existing order.',
      tags: ['Orders'],
      parameters: [merchantId],
      requestBody: requestBody('CreateCollectionData'),
      responses: responses(ref('CreatedOrder'), [
        ...SIGNED_POST,
        ...ORDER_FIELDS,
        'PRICE_INVALID',
        'CURRENCY_INVALID',
        'ACCEPT_INVALID',
        'RECEIVE_ADDRESS_WRONG',
        'RETURN_URL_INVALID',
        'DESCRIPTION_INVALID',
        'EXPIRES_IN_INVALID',
        'RATE_UNAVAILABLE',
      ]),
    },
  },
  '/v1/order/createPayout': {
    post: {
      operationId: 'createPayout',
      summary: 'Send funds from the hot wallet',
      description:
        'Payouts move real funds and cannot be reversed. The amount is reserved in the hot wallet before the response.',
      tags: ['Orders'],
      parameters: [merchantId],
      requestBody: requestBody('CreatePayoutData'),
      responses: responses(
        ref('CreatedOrder'),
        [
          ...SIGNED_POST,
          ...ORDER_FIELDS,
          'RECEIVE_ADDRESS_BLANK',
          'RECEIVE_ADDRESS_WRONG',
          'BALANCE_INSUFFICIENT',
        ],
        [[409, duplicateOfOrderText('order-1001')]],
      ),
    },
  },
  '/v1/order/status/{orderId}': {
    get: {
      operationId: 'status',
      summary: 'Get the full state of a collection or a payout',
      tags: ['Orders'],
      parameters: [
        parameter('orderId', 'path', true, 'Identifier given at creation.'),
        ownSignQuery,
        merchantId,
      ],
      responses: responses(
        ref('OrderState'),
        SIGNED_GET.map((code) => (code === 'ORDER_ID_BLANK' ? 'BAD_REQUEST' : code)),
      ),
    },
  },
  '/v1/order/pay': {
    get: {
      operationId: 'pay',
      summary: 'Get a collection for the checkout page',
      description: 'May be called by a page of any configured origin.',
      tags: ['Checkout'],
      parameters: [orderIdQuery, signQuery, merchantId],
      responses: responses(ref('PayinOrder'), SIGNED_GET),
    },
  },
  '/v1/order/choose': {
    post: {
      operationId: 'choose',
      summary: 'Choose the coin of an order with options',
      description:
        'Returns the order with the address for this coin. May be repeated, also with another coin, until the order is covered or over: the order keeps its earlier addresses, and what arrives there counts for it. May be called by a page of any configured origin.',
      tags: ['Checkout'],
      parameters: [orderIdQuery, signQuery, merchantId],
      requestBody: { required: true, content: { 'application/json': { schema: ref('ChooseData') } } },
      responses: responses(ref('PayinOrder'), [
        ...SIGNED_GET,
        'BODY_NOT_JSON',
        'BODY_TOO_LARGE',
        'MEDIA_TYPE_UNSUPPORTED',
        'SYMBOL_BLANK',
        'CHAIN_BLANK',
        'OPTION_NOT_OFFERED',
        'ORDER_CLOSED',
        'RATE_UNAVAILABLE',
        'CHAIN_NOT_READY',
      ]),
    },
  },
  '/v1/order/getOrderStatus': {
    get: {
      operationId: 'getOrderStatus',
      summary: 'Get only the status of a collection, for polling',
      description: 'May be called by a page of any configured origin.',
      tags: ['Checkout'],
      parameters: [orderIdQuery, signQuery, merchantId],
      responses: responses(ref('PaymentOrderStatus'), SIGNED_GET),
    },
  },
  '/v1/order/events': {
    get: {
      operationId: 'events',
      summary: 'Stream a collection as server-sent events',
      description:
        'Each `order` event holds the `data` of `pay`; the first is sent at once, the others on each change. A `ping` every 15 s shows that the connection is alive. The stream ends when the order is settled. Connections are limited per order, client address and process: on 429 or 503, poll instead. May be called by a page of any configured origin.',
      tags: ['Checkout'],
      parameters: [orderIdQuery, signQuery, merchantId],
      responses: {
        ...responses({}, SIGNED_GET),
        '200': {
          description: 'Success',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        },
      },
    },
  },
  ...LINK_PATHS,
  '/v1/symbol/supportSymbols': {
    get: {
      operationId: 'supportSymbols',
      summary: 'List the tokens configured on the gateway',
      description: 'May be called by a page of any configured origin. No signature is needed.',
      tags: ['Symbols'],
      parameters: [
        parameter('chain', 'query', false, 'Only tokens of this chain.'),
        parameter('symbol', 'query', false, 'Only this symbol; case does not matter.'),
      ],
      responses: responses({ type: 'array', items: ref('SupportedSymbol') }, ['CHAIN_UNSUPPORTED']),
    },
  },
};

export const WEBHOOK_SIGNATURE =
  '`webhook-signature` is `v1,` and the base64 of HMAC-SHA256 over `webhook-id + "." + webhook-timestamp + "." + body`, with the webhook secret as key. While the secret is being changed, it has two signatures with a space between them: of the current secret and of the next. Accept the callback if one of them is right.';

const callbackHeader = (name: string, description: string) => parameter(name, 'header', true, description);

const webhook = (operationId: string, summary: string, description: string, schema: JsonSchema) => ({
  post: {
    operationId,
    summary,
    description,
    tags: ['Callbacks'],
    parameters: [
      callbackHeader('webhook-id', 'The `nonce` of the body.'),
      callbackHeader('webhook-timestamp', 'The `timestamp` of the body.'),
      callbackHeader('webhook-signature', WEBHOOK_SIGNATURE),
      callbackHeader('X-Signature', 'The `sign` of the body.'),
      callbackHeader('X-Timestamp', 'The `timestamp` of the body.'),
    ],
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': { description: 'Received; it is not sent again.' },
      '410': { description: 'Disables the endpoint until an operator enables it again.' },
      '429': { description: 'Retry after `Retry-After`, at most an hour.' },
    },
  },
});

const webhooks = {
  orderCallback: webhook(
    'orderCallback',
    'An order has changed',
    'Posted to the callback URL of the merchant. Store it and answer 2xx within 10 s; any other answer is retried for two days. Callbacks are delivered at least once, and those of one order in sequence. Verify `webhook-signature` (Standard Webhooks 1.0.0) before you use the content. `sign` covers only `data`; it is for clients of the older format. Reject callbacks older than five minutes.',
    ref('OrderCallback'),
  ),
  unmatchedCallback: webhook(
    'unmatchedCallback',
    'A payment arrived that does not count',
    'Opt-in per merchant. Sent and signed like the other callbacks. Do not take the status of the order from it: a retried one can arrive after a newer callback of the order. Contact the customer, or ask the operator to accept or refund the payment. A payment that a reorganisation removed is no longer listed.',
    ref('UnmatchedCallback'),
  ),
  collectCallback: webhook(
    'collectCallback',
    'Received money is moved to cold storage',
    'Posted and signed like `orderCallback`, for bookkeeping only: the order callbacks tell whether an order is paid. Answer 200 if you do not need it. Sent only if the operator enabled sweeps: once when a sweep is sent, and once when it has ended.',
    ref('CollectCallback'),
  ),
};

/** `golden/openapi.json` is the reviewed copy. */
export const OPENAPI_DOCUMENT = {
  openapi: '3.1.0',
  info: {
    title: 'Opentill merchant API',
    version: '1.0.0',
    description:
      'Every response is `{"code","msg","data"}` in that order, with the HTTP status equal to `code`; `data` is null on error. An error may have a fourth member, `detail`, which says what to correct. Requests are authenticated by a signature made with the merchant token, which is never sent. Each merchant has its own base URL, `/m/<merchantId>`: every path below `/v1` is also served there, and the prefix is not part of the signed text. Amounts are decimal strings. `X-Request-Id` of a response identifies it in the log.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [
    {
      url: '/m/{merchantId}',
      description: 'Base URL of a merchant.',
      variables: { merchantId: { default: 'default' } },
    },
    {
      url: '/',
      description: 'For gateways with few merchants, and for requests that name the merchant in a header.',
    },
  ],
  tags: [
    { name: 'Orders' },
    { name: 'Links' },
    { name: 'Checkout' },
    { name: 'Symbols' },
    { name: 'Callbacks' },
  ],
  paths,
  webhooks,
  components: { schemas: API_SCHEMAS },
} as const;
