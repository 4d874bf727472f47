import { payinOrder, UNMATCHED, unmatchedPayments, unmatchedTransfer } from './checkout-schemas.ts';
import { ERROR_ENVELOPE } from './error-envelope.ts';
import {
  chain,
  decimal,
  NAME_PATTERN,
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

const requestAmount: JsonSchema = {
  description:
    'Decimal amount greater than zero, with at most the decimals of the token. A JSON number is accepted too; its literal text is read.',
  anyOf: [{ type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$', maxLength: 31 }, { type: 'number' }],
  examples: ['25.00'],
};
const requestUid: JsonSchema = {
  description:
    'User identifier: an integer, or the same characters as `orderId`. Required for V2 merchants; not `0`.',
  anyOf: [{ type: 'string', pattern: NAME_PATTERN }, { type: 'integer' }, { type: 'null' }],
};
const requestOrderId: JsonSchema = {
  ...orNull({ type: 'string', pattern: NAME_PATTERN }),
  description: `${String(orderId['description'])} Required for V3 merchants; generated for V2 merchants.`,
  examples: ['order-1001'],
};
const requestSymbol: JsonSchema = {
  type: 'string',
  minLength: 1,
  description: 'Token symbol; case does not matter.',
  examples: ['USDT'],
};

const createCollectionData: JsonSchema = {
  type: 'object',
  description:
    'Unknown members are ignored, but signed. `receiveAddress` is rejected, because data with a receiver belongs to a payout.',
  required: ['amount', 'symbol', 'chain'],
  properties: {
    amount: requestAmount,
    symbol: requestSymbol,
    chain,
    orderId: requestOrderId,
    uid: requestUid,
    returnUrl: {
      type: ['string', 'null'],
      format: 'uri',
      maxLength: 2048,
      description:
        "Return link of the checkout: https, with an origin on the merchant's list, which the operator sets: `opentill merchant set <id> --return-origin`.",
    },
    description: { type: ['string', 'null'], maxLength: 120, description: 'Shown at checkout.' },
    expiresIn: {
      type: ['integer', 'null'],
      minimum: 60,
      maximum: 86400,
      description:
        'Seconds until the order expires; the default is a setting of the merchant, initially 1800.',
    },
  },
};

const createPayoutData: JsonSchema = {
  type: 'object',
  description:
    'Unknown members are ignored, but signed. Without `orderId` (V2) the signed data identifies the payout permanently: the same data again returns 409 and does not pay again.',
  required: ['amount', 'symbol', 'chain', 'receiveAddress'],
  properties: {
    amount: requestAmount,
    symbol: requestSymbol,
    chain,
    receiveAddress: {
      type: 'string',
      minLength: 1,
      description: 'Destination address; the format is checked for the chain.',
      examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
    },
    orderId: requestOrderId,
    uid: requestUid,
  },
};

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

const notifyOrder = object('The state of an order; `data` of the order callbacks.', orderFields);

const notifyUnmatched = object(
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
);

const orderState = object('The full state of an order.', { ...orderFields, unmatched: unmatchedPayments });

const newOrder = object('An order as it was created.', {
  address: text('Deposit address of a collection; hot wallet of a payout.'),
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
});

const createdOrder: JsonSchema = {
  ...newOrder,
  properties: {
    ...(newOrder['properties'] as object),
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
  PayinOrder: payinOrder,
  PaymentOrderStatus: object('The compact status.', { status: orderStatus, unmatched: unmatchedPayments }),
  SupportedSymbol: supportedSymbol,
  ErrorEnvelope: ERROR_ENVELOPE,
} as const satisfies Readonly<Record<string, JsonSchema>>;

export type ApiSchemaName = keyof typeof API_SCHEMAS;
