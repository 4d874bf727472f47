import { chain, NAME_PATTERN, orderId, orNull, type JsonSchema } from './schema-words.ts';

export const requestAmount: JsonSchema = {
  description:
    'Decimal amount greater than zero, with at most the decimals of the token. A JSON number is accepted too; its literal text is read.',
  anyOf: [{ type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$', maxLength: 31 }, { type: 'number' }],
  examples: ['25.00'],
};
export const requestUid: JsonSchema = {
  description:
    'User identifier: an integer, or the same characters as `orderId`. Required for V2 merchants; not `0`.',
  anyOf: [{ type: 'string', pattern: NAME_PATTERN }, { type: 'integer' }, { type: 'null' }],
};
const requestOrderId: JsonSchema = {
  ...orNull({ type: 'string', pattern: NAME_PATTERN }),
  description: `${String(orderId['description'])} Required for V3 merchants; generated for V2 merchants.`,
  examples: ['order-1001'],
};
export const requestSymbol: JsonSchema = {
  type: 'string',
  minLength: 1,
  description: 'Token symbol; case does not matter.',
  examples: ['USDT'],
};

export const acceptedCoins: JsonSchema = {
  type: ['array', 'null'],
  minItems: 1,
  maxItems: 50,
  items: {
    type: 'object',
    required: ['chain', 'symbol'],
    properties: { chain, symbol: requestSymbol },
  },
  examples: [],
};

export const createCollectionData: JsonSchema = {
  type: 'object',
  description:
    'Unknown members are ignored, but signed. `receiveAddress` is rejected, because data with a receiver belongs to a payout.',
  anyOf: [{ required: ['symbol', 'chain', 'amount'] }, { required: ['price', 'currency'] }],
  properties: {
    amount: {
      ...requestAmount,
      description: `${requestAmount['description']} Either this, or price and currency.`,
    },
    price: {
      description:
        'Instead of the amount: a price in `currency` such as 49.90, with at most its minor units and 18 digits. The gateway computes the amount once, by its rate, and rounds it up to the display decimals of the token.',
      anyOf: [
        { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$', maxLength: 31 },
        { type: 'number' },
        { type: 'null' },
      ],
      examples: [],
    },
    currency: {
      type: ['string', 'null'],
      description: 'Of the price: a code of ISO 4217, such as EUR, for which the gateway has rates.',
      examples: [],
    },
    symbol: requestSymbol,
    chain,
    accept: {
      ...acceptedCoins,
      description:
        'With a price and without `symbol` and `chain`: the coins that the customer may choose. Default: all that are enabled and have a rate. Otherwise ignored.',
    },
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

export const chooseData: JsonSchema = {
  type: 'object',
  description: 'One of the `options` of the order.',
  required: ['symbol', 'chain'],
  properties: { symbol: requestSymbol, chain },
};

export const createPayoutData: JsonSchema = {
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
