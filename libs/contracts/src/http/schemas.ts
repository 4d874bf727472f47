import { CHAIN_VALUES } from '@opentill/domain/chains';
import { UNMATCHED_REASONS } from '@opentill/domain/settle-transfer';
import { ERROR_ENVELOPE } from './error-envelope.ts';

/** JSON Schema 2020-12, as in OpenAPI 3.1. */
export type JsonSchema = { readonly [keyword: string]: unknown };

const ORDER_STATUSES = ['INIT', 'PENDING', 'PENDING_CONFIRMATION', 'SUCCESS', 'EXPIRED', 'FAILED'];
const NAME_PATTERN = '^[A-Za-z0-9_.:~@-]{1,64}$';

function object(description: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', description, required: Object.keys(properties), properties };
}

function orNull(schema: JsonSchema): JsonSchema {
  return { ...schema, type: [schema['type'], 'null'] };
}

const text = (description: string): JsonSchema => ({ type: 'string', description });
const unixSeconds = (description: string): JsonSchema => ({
  type: 'integer',
  minimum: 0,
  description: `${description} Unix time in seconds.`,
});
const decimal = (description: string): JsonSchema => ({
  type: 'string',
  pattern: '^[0-9]+(\\.[0-9]+)?$',
  description,
});
const chain: JsonSchema = { type: 'string', enum: CHAIN_VALUES, description: 'Chain value.' };
const orderStatus: JsonSchema = { type: 'string', enum: ORDER_STATUSES, description: 'Order status.' };
const orderId: JsonSchema = {
  type: 'string',
  pattern: NAME_PATTERN,
  description: "The merchant's order id: 1 to 64 letters, digits and `_ - . : ~ @`.",
};
const uid = orNull({ type: 'string', description: 'User identifier, null when none was given.' });

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

const unmatchedTransfer = {
  chain,
  symbol: text('Token symbol.'),
  amount: decimal('Amount that arrived.'),
  txid: text('Transaction hash.'),
  reason: {
    type: 'string',
    enum: UNMATCHED_REASONS,
    description:
      'WRONG_TOKEN: another token. WRONG_CHAIN: another chain of the same family. LATE: after expiry. UNDERPAID: too little, and the order expired. AFTER_SUCCESS: the order was already paid. ORDER_FAILED: the order was refused.',
  },
} as const;

const UNMATCHED = 'Payments that arrived at the address and do not count, newest first, at most 20.';

const unmatchedPayments: JsonSchema = {
  type: 'array',
  description: UNMATCHED,
  examples: [[]],
  items: object('A payment that does not count.', {
    ...unmatchedTransfer,
    explorerUrl: orNull({ type: 'string', format: 'uri', description: 'Explorer page of `txid`.' }),
  }),
};

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

const notifyUnmatched = object('The state of an order with the payments that do not count for it.', {
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
          txid: '0x224b6cfb1b9a9f2c7a6f0c7a51d5a0fd1a3b6d1a1c6f0f27e2b7c1f2bd836c41',
          reason: 'WRONG_TOKEN',
        },
      ],
    ],
    items: object('A payment that does not count.', unmatchedTransfer),
  },
});

const orderState = object('The full state of an order.', { ...orderFields, unmatched: unmatchedPayments });

const merchantProfile = object('The merchant, for the checkout page.', {
  name: orNull({ ...text('Name of the merchant.'), examples: ['Acme Cloud'] }),
  logoUrl: orNull({
    type: 'string',
    pattern: '^/m/',
    description: 'Path of the logo below the base URL of the API: SVG or PNG.',
    examples: ['/m/shop-1/logo?v=0123456789abcdef'],
  }),
  accentColor: orNull({
    type: 'string',
    pattern: '^#[0-9a-f]{6}$',
    description: 'Colour of the merchant.',
    examples: ['#1f6feb'],
  }),
  supportUrl: orNull({
    type: 'string',
    format: 'uri',
    description: 'Help page of the merchant.',
    examples: ['https://shop.example.com/help'],
  }),
  supportEmail: orNull({ ...text('Mail address for help.'), examples: ['help@shop.example.com'] }),
  shopUrl: orNull({
    type: 'string',
    format: 'uri',
    description: 'The shop.',
    examples: ['https://shop.example.com'],
  }),
});

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

const payinOrder = object('A collection as the checkout page shows it.', {
  orderId,
  chain,
  symbol: text('Token symbol.'),
  contractAddress: orNull(text('Token contract; the coin type on SUI; null for a native coin.')),
  decimals: { type: 'integer', minimum: 0, description: 'Decimals of the token.' },
  address: text('Deposit address the customer pays to.'),
  amount: decimal('Requested amount.'),
  actualAmount: orNull(decimal('Amount received once confirmed; null before.')),
  expiredTime: unixSeconds('When the request expires.'),
  status: orderStatus,
  reason: orNull(
    text(
      "As in GET status, except that the text of an operator's refusal is replaced by: Refused by operator.",
    ),
  ),
  receivedAmount: decimal('Sum of the transfers detected so far.'),
  txid: orNull(text('Latest transaction.')),
  explorerUrl: orNull({ type: 'string', format: 'uri', description: 'Explorer page of `txid`.' }),
  confirmedNum: { type: 'integer', minimum: 0, description: 'Current confirmations of `txid`.' },
  requiredConfirmations: {
    type: ['integer', 'null'],
    minimum: 1,
    description: 'Null: the chain’s finalized block is required.',
  },
  returnUrl: orNull({ type: 'string', format: 'uri', description: 'Return link to the shop.' }),
  description: orNull(text('Given by the merchant.')),
  serverTime: unixSeconds('Current time at the server.'),
  merchant: merchantProfile,
  isTestNetwork: {
    type: 'boolean',
    description: 'The tokens of this chain have no value.',
    examples: [true],
  },
  unmatched: unmatchedPayments,
});

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
