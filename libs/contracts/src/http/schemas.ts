import { coinOfAmounts, options, orderOption, payments, withMembers } from './option-schemas.ts';
import { payinOrder, UNMATCHED, unmatchedPayments, unmatchedTransfer } from './checkout-schemas.ts';
import { ERROR_ENVELOPE } from './error-envelope.ts';
import {
  closeLinkData,
  createLinkData,
  link,
  linkList,
  listLinksData,
  readLinkData,
} from './link-schemas.ts';
import { chooseData, createCollectionData, createPayoutData } from './request-schemas.ts';
import {
  chain,
  decimal,
  object,
  orderId,
  orderStatus,
  orNull,
  text,
  uid,
  unixSeconds,
  type JsonSchema,
} from './schema-words.ts';

export type { JsonSchema } from './schema-words.ts';

const transaction = object('The latest transaction of the order.', {
  chain,
  symbol: text('Token symbol.'),
  contractAddress: orNull(text('Token contract; null for a native coin.')),
  decimals: { type: 'integer', minimum: 0, description: 'Decimals of the token.' },
  txid: text('Transaction hash.'),
  from: text('Sender.'),
  to: text('Receiver.'),
  amount: decimal('Transferred amount.'),
  blockNum: { type: 'integer', minimum: 0, description: 'Block that included the transaction.' },
  confirmedNum: {
    type: 'integer',
    minimum: 0,
    description: 'Confirmations at the time of the response: head − block + 1.',
  },
  status: { type: 'string', enum: ['PENDING', 'SUCCESS', 'FAILED'] },
  timestamp: unixSeconds('Time of the block.'),
  txGas: orNull(decimal('Network fee of the transaction in the native coin; null while unknown.')),
});

const orderFields = {
  orderId,
  uid,
  orderType: { type: 'string', enum: ['COLLECTION', 'PAYOUT'] },
  status: orderStatus,
  reason: orNull(
    text(
      'Why the order failed or expired. `Reorganised`: a transaction was orphaned and is in no block now; usually it is included again.',
    ),
  ),
  amount: decimal('Requested amount.'),
  actualAmount: orNull(decimal('Sum of the confirmed transfers; null while there is none.')),
  fee: { type: 'string', const: '0', description: 'Always 0: no fee is deducted.' },
  feeRatio: { type: 'string', const: '0' },
  transaction: {
    description: 'null until a transaction is detected.',
    anyOf: [{ $ref: '#/components/schemas/Transaction' }, { type: 'null' }],
  },
};

/** Only of an order that a payment link opened. */
const linkOfOrder = {
  linkId: {
    ...orderId,
    description: 'Only of an order that a payment link opened: its linkId.',
    examples: [],
  },
};

/** Adds the optional members of an order with a price. */
function withPrice(schema: JsonSchema): JsonSchema {
  return {
    ...schema,
    properties: {
      ...(schema['properties'] as object),
      currency: {
        type: 'string',
        description: 'Only of an order with a price: its currency (ISO 4217).',
        examples: [],
      },
      price: { ...decimal('Only of an order with a price: the price in `currency`.'), examples: [] },
      rate: {
        ...decimal(
          'Only of an order with a price: price of one coin in `currency`, before the markup of the merchant.',
        ),
        examples: [],
      },
    },
  };
}

const notifyOrder = withMembers(
  withPrice(object('The state of an order; `data` of the order callbacks.', orderFields)),
  { ...coinOfAmounts, ...linkOfOrder },
);

const notifyUnmatched = withMembers(
  withPrice(
    object(
      'The state of an order with the payments that do not count for it. Do not take the status of the order from it.',
      {
        ...orderFields,
        unmatched: {
          type: 'array',
          description: UNMATCHED,
          examples: [
            [
              {
                chain: 'ETH_SEPOLIA',
                symbol: 'USDC',
                amount: '25.00',
                txid: '0x9e41c7d05ab83f26d1e7f0943c8b6a52e0d17c94fb3a685d2e9017c6a4f8b35d',
                reason: 'WRONG_TOKEN',
              },
            ],
          ],
          items: object('A payment that does not count.', unmatchedTransfer),
        },
      },
    ),
  ),
  { ...coinOfAmounts, ...linkOfOrder },
);

const orderState = withMembers(
  withPrice(object('The full state of an order.', { ...orderFields, unmatched: unmatchedPayments })),
  { ...coinOfAmounts, ...linkOfOrder },
);

const newOrder = withPrice(
  object('An order as it was created.', {
    address: orNull(
      text('Deposit address of a collection, null until a coin is chosen; hot wallet of a payout.'),
    ),
    amount: decimal('Requested amount.'),
    symbol: text('Token symbol.'),
    chain,
    uid,
    orderId,
    expiredTime: unixSeconds('When the request expires.'),
    paymentUrl: orNull({
      type: 'string',
      format: 'uri',
      description: 'Hosted checkout; null for a payout. Its `sign` ends with a dot and the merchant id.',
    }),
  }),
);

const createdOrder: JsonSchema = {
  ...newOrder,
  properties: {
    ...(newOrder['properties'] as object),
    ...options,
    status: {
      type: 'string',
      enum: ['SUCCESS', 'EXPIRED', 'FAILED'],
      examples: [],
      description:
        'Only when the request repeats an order that has ended: do not show its address, use a new orderId.',
    },
  },
};

const supportedSymbol = object('A token configured on the gateway.', {
  symbol: text('Token symbol.'),
  chain,
  contractAddress: orNull(text('Token contract; the coin type on SUI; null for a native coin.')),
  decimals: { type: 'integer', minimum: 0 },
  minAmount: orNull(decimal('Smallest order; null: no limit.')),
  maxAmount: orNull(decimal('Largest order; null: no limit.')),
});

const collect = object('The part of a sweep to cold storage that is one merchant’s money.', {
  collectAmount: decimal('Amount sent; once it has arrived, the amount that arrived.'),
  fee: { type: 'string', const: '0', description: 'Always 0: no fee is deducted.' },
  feeRatio: { type: 'string', const: '0' },
  reason: orNull(text('Why the sweep failed.')),
  transaction: {
    description: 'Null until the transaction is in a block.',
    anyOf: [{ $ref: '#/components/schemas/Transaction' }, { type: 'null' }],
  },
});

const callback = (description: string, notifyType: JsonSchema, data: string): JsonSchema =>
  object(description, {
    sign: {
      type: 'string',
      pattern: '^[0-9a-f]{64}$',
      description: 'Hex HMAC-SHA256 with the webhook secret as key over `data` exactly as in the body.',
    },
    timestamp: unixSeconds('Time of this attempt; each attempt has its own.'),
    nonce: text('Id of the event, the same on every attempt. Process each nonce once.'),
    notifyType: { type: 'string', ...notifyType },
    data: { $ref: `#/components/schemas/${data}` },
  });

const orderCallback = callback(
  'Posted to the callback URL when an order changes.',
  {
    enum: [
      'ORDER_PENDING',
      'ORDER_PENDING_CONFIRMATION',
      'ORDER_SUCCESS',
      'ORDER_EXPIRED',
      'ORDER_FAILED',
      'ORDER_REVERTED',
    ],
    examples: ['ORDER_SUCCESS'],
    description:
      'Kind of change. Only `ORDER_SUCCESS` means paid. `ORDER_REVERTED` is sent only if the merchant enabled it: a reorganisation orphaned money of a paid order.',
  },
  'NotifyOrder',
);

const unmatchedCallback = callback(
  'Posted to the callback URL when a payment arrived that does not count for its order, if the merchant enabled it.',
  {
    enum: ['ORDER_UNMATCHED'],
    examples: ['ORDER_UNMATCHED'],
    description: 'At most once a minute per order. The order itself has not changed.',
  },
  'NotifyUnmatched',
);

const collectCallback = callback(
  'Posted to the callback URL when money from a customer is moved to cold storage.',
  {
    enum: ['COLLECT_PENDING', 'COLLECT_SUCCESS', 'COLLECT_FAILED'],
    examples: ['COLLECT_SUCCESS'],
    description: 'Sent; arrived and final; or failed, with the money unmoved.',
  },
  'Collect',
);

export function successEnvelope(data: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['code', 'msg', 'data'],
    properties: { code: { const: 200 }, msg: { const: 'success' }, data },
  };
}

export const API_SCHEMAS = {
  RequestEnvelope: {
    type: 'object',
    description: 'The envelope of every POST; `data` depends on the operation.',
    required: ['sign', 'timestamp', 'nonce', 'data'],
    properties: {
      sign: {
        type: 'string',
        pattern: '^[0-9a-fA-F]{64}$',
        description:
          'Hex HMAC-SHA256 with the merchant token as key over `data` as compact JSON (merchants with signVersion 2: over `timestamp + "." + nonce + "." + path + "." + data`).',
      },
      timestamp: unixSeconds('Time of the request; at most 300 s from the time of the server.'),
      nonce: {
        type: 'string',
        pattern: '^[ -~]{1,128}$',
        description: 'Unique per request. Used up by the answers 200, 400, 409 and 422.',
      },
      data: { type: 'object' },
    },
  },
  CreateCollectionData: createCollectionData,
  CreatePayoutData: createPayoutData,
  CreatedOrder: createdOrder,
  NotifyOrder: notifyOrder,
  OrderCallback: orderCallback,
  OrderState: orderState,
  NotifyUnmatched: notifyUnmatched,
  UnmatchedCallback: unmatchedCallback,
  Collect: collect,
  CollectCallback: collectCallback,
  Transaction: transaction,
  PayinOrder: withMembers(withPrice(payinOrder), { ...options, payments }),
  OrderOption: orderOption,
  ChooseData: chooseData,
  PaymentOrderStatus: object('The compact status.', { status: orderStatus, unmatched: unmatchedPayments }),
  CreateLinkData: createLinkData,
  ReadLinkData: readLinkData,
  CloseLinkData: closeLinkData,
  ListLinksData: listLinksData,
  PaymentLink: link,
  PaymentLinks: linkList,
  SupportedSymbol: supportedSymbol,
  ErrorEnvelope: ERROR_ENVELOPE,
} as const satisfies Readonly<Record<string, JsonSchema>>;

export type ApiSchemaName = keyof typeof API_SCHEMAS;
