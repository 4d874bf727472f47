import { CHAIN_VALUES } from '@opentill/domain/chains';

/** A JSON Schema (2020-12), which is what OpenAPI 3.1 uses. */
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
    'Decimal amount, greater than zero, with no more decimals than the token has. A JSON number is accepted too and read from its literal.',
  anyOf: [{ type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$', maxLength: 31 }, { type: 'number' }],
  examples: ['25.00'],
};
const requestUid: JsonSchema = {
  description:
    'User identifier, the same characters as `orderId`, or an integer; required for V2 merchants; not `0`.',
  anyOf: [{ type: 'string', pattern: NAME_PATTERN }, { type: 'integer' }, { type: 'null' }],
};
const requestOrderId: JsonSchema = {
  ...orNull({ type: 'string', pattern: NAME_PATTERN }),
  description: `${String(orderId['description'])} Required for V3 merchants; the gateway makes one for V2 merchants.`,
  examples: ['order-1001'],
};
const requestSymbol: JsonSchema = {
  type: 'string',
  minLength: 1,
  description: 'Token symbol, matched without case.',
  examples: ['USDT'],
};

const createCollectionData: JsonSchema = {
  type: 'object',
  description:
    'Further members are ignored, but signed; except `receiveAddress`, which is refused: data with a receiver is a payout’s.',
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
      description: "The checkout's way back: https, its origin on the merchant's list.",
    },
    description: { type: ['string', 'null'], maxLength: 120, description: 'Shown at checkout.' },
    expiresIn: {
      type: ['integer', 'null'],
      minimum: 60,
      maximum: 86400,
      description: 'Seconds until the order expires; the default is the merchant’s, 1800.',
    },
  },
};

const createPayoutData: JsonSchema = {
  type: 'object',
  description:
    'Further members are ignored, but signed. Without `orderId` (V2) the signed data is the identity of the payout for ever: the same data again is 409 and pays nothing.',
  required: ['amount', 'symbol', 'chain', 'receiveAddress'],
  properties: {
    amount: requestAmount,
    symbol: requestSymbol,
    chain,
    receiveAddress: {
      type: 'string',
      minLength: 1,
      description: 'Destination address; its format is checked for the chain.',
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
    description: 'Confirmations at the time of the answer: head − block + 1.',
  },
  status: { type: 'string', enum: ['PENDING', 'SUCCESS', 'FAILED'] },
  timestamp: unixSeconds('Time of the block.'),
  txGas: orNull(decimal('Network fee of the transaction in the native coin; null while unknown.')),
});

const notifyOrder = object('The full state of an order; also `data` of every order callback.', {
  orderId,
  uid,
  orderType: { type: 'string', enum: ['COLLECTION', 'PAYOUT'] },
  status: orderStatus,
  reason: orNull(
    text(
      'Why it failed or expired. Reorganised: something that was seen is in no block at the moment; it comes back, as a rule.',
    ),
  ),
  amount: decimal('Requested amount.'),
  actualAmount: orNull(decimal('Sum of the confirmed transfers; null while there is none.')),
  fee: { type: 'string', const: '0', description: 'Nothing is deducted.' },
  feeRatio: { type: 'string', const: '0' },
  transaction: {
    description: 'null until a transaction is detected.',
    anyOf: [{ $ref: '#/components/schemas/Transaction' }, { type: 'null' }],
  },
});

const createdOrder = object('An order as it was created.', {
  address: text('Deposit address of a collection; the hot wallet a payout is sent from.'),
  amount: decimal('Requested amount.'),
  symbol: text('Token symbol.'),
  chain,
  uid,
  orderId,
  expiredTime: unixSeconds('When the request expires.'),
  paymentUrl: orNull({
    type: 'string',
    format: 'uri',
    description: 'Hosted checkout; null for a payout. Its `sign` names the merchant after a point.',
  }),
});

const payinOrder = object('What the checkout page shows of a collection.', {
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
    text('As GET status answers it; but what an operator wrote, refusing it, reads as: Refused by operator.'),
  ),
  receivedAmount: decimal('Detected so far.'),
  txid: orNull(text('Latest transaction.')),
  explorerUrl: orNull({ type: 'string', format: 'uri', description: 'Where people can look at `txid`.' }),
  confirmedNum: { type: 'integer', minimum: 0, description: 'Confirmations of `txid` now.' },
  requiredConfirmations: {
    type: ['integer', 'null'],
    minimum: 1,
    description: 'null: the chain’s finalized block decides.',
  },
  returnUrl: orNull({ type: 'string', format: 'uri', description: 'Way back to the shop.' }),
  description: orNull(text('Given by the merchant.')),
  serverTime: unixSeconds('Now, at the server.'),
});

const supportedSymbol = object('A token configured on the gateway.', {
  symbol: text('Token symbol.'),
  chain,
  contractAddress: orNull(text('Token contract; the coin type on SUI; null for a native coin.')),
  decimals: { type: 'integer', minimum: 0 },
  minAmount: orNull(decimal('Smallest order; null: no limit.')),
  maxAmount: orNull(decimal('Largest order; null: no limit.')),
});

const collect = object('What a sweep moves of one merchant’s money, on its way to cold storage.', {
  collectAmount: decimal('What is sent; once it has arrived, what arrived.'),
  fee: { type: 'string', const: '0', description: 'Nothing is deducted.' },
  feeRatio: { type: 'string', const: '0' },
  reason: orNull(text('Why it failed.')),
  transaction: {
    description: 'null until it is in a block.',
    anyOf: [{ $ref: '#/components/schemas/Transaction' }, { type: 'null' }],
  },
});

/** What is posted to the callback URL. */
const callback = (description: string, notifyType: JsonSchema, data: string): JsonSchema =>
  object(description, {
    sign: {
      type: 'string',
      pattern: '^[0-9a-f]{64}$',
      description: 'Hex HMAC-SHA256 with the webhook secret as key over `data` as it stands in the body.',
    },
    timestamp: unixSeconds('When this attempt was made; each attempt has its own.'),
    nonce: text('Of the event: the same on every attempt. Do what follows from a callback once per nonce.'),
    notifyType: { type: 'string', ...notifyType },
    data: { $ref: `#/components/schemas/${data}` },
  });

const orderCallback = callback(
  'What the gateway posts to the callback URL when an order changes.',
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
      'What happened. `ORDER_SUCCESS` alone means paid. `ORDER_REVERTED` comes only where the merchant asked for it: money of a paid order was taken back by a reorganisation.',
  },
  'NotifyOrder',
);

const collectCallback = callback(
  'What the gateway posts to the callback URL when money that a customer paid goes on to cold storage.',
  {
    enum: ['COLLECT_PENDING', 'COLLECT_SUCCESS', 'COLLECT_FAILED'],
    examples: ['COLLECT_SUCCESS'],
    description: 'Sent; arrived for good; or come to nothing, with the money where it was.',
  },
  'Collect',
);

/** An envelope of a success with this `data`. */
export function successEnvelope(data: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['code', 'msg', 'data'],
    properties: { code: { const: 200 }, msg: { const: 'success' }, data },
  };
}

/** The schemas of OpenAPI's `components`. */
export const API_SCHEMAS = {
  RequestEnvelope: {
    type: 'object',
    description: 'The envelope of every POST; `data` is the operation’s own.',
    required: ['sign', 'timestamp', 'nonce', 'data'],
    properties: {
      sign: {
        type: 'string',
        pattern: '^[0-9a-fA-F]{64}$',
        description:
          'Hex HMAC-SHA256 with the merchant token as key over `data` as compact JSON (merchants with signVersion 2: over `timestamp + "." + nonce + "." + path + "." + data`).',
      },
      timestamp: unixSeconds('When the request was made; at most 300 s off.'),
      nonce: {
        type: 'string',
        pattern: '^[ -~]{1,128}$',
        description: 'Unique per request. Spent by the answers 200, 400, 409 and 422.',
      },
      data: { type: 'object' },
    },
  },
  CreateCollectionData: createCollectionData,
  CreatePayoutData: createPayoutData,
  CreatedOrder: createdOrder,
  NotifyOrder: notifyOrder,
  OrderCallback: orderCallback,
  Collect: collect,
  CollectCallback: collectCallback,
  Transaction: transaction,
  PayinOrder: payinOrder,
  PaymentOrderStatus: object('The compact status.', { status: orderStatus }),
  SupportedSymbol: supportedSymbol,
  ErrorEnvelope: {
    type: 'object',
    description: 'Every refusal. The HTTP status equals `code`.',
    required: ['code', 'msg', 'data'],
    properties: {
      code: { type: 'integer', minimum: 400, maximum: 599 },
      msg: { type: 'string' },
      data: { type: 'null' },
    },
  },
} as const satisfies Readonly<Record<string, JsonSchema>>;

export type ApiSchemaName = keyof typeof API_SCHEMAS;
