import { acceptedCoins, requestAmount, requestSymbol, requestUid } from './request-schemas.ts';
import { chain, NAME_PATTERN, orNull, text, uid, unixSeconds, type JsonSchema } from './schema-words.ts';

/** Largest stock. More paid or open orders of a link are not counted. */
export const LINK_STOCK_MAX = 10_000;
/** Most links per answer. */
export const LINKS_LISTED_MAX = 100;

const linkId: JsonSchema = {
  type: 'string',
  pattern: NAME_PATTERN,
  description: 'Your own id of the link: 1 to 64 letters, digits and `_ - . : ~ @`.',
  examples: ['coffee'],
};
const value = (description: string): JsonSchema => ({
  ...orNull(requestAmount),
  description,
  examples: [],
});
const stock: JsonSchema = {
  type: ['integer', 'null'],
  minimum: 1,
  maximum: LINK_STOCK_MAX,
  description: 'Most orders of the link that are open or paid. Null: unlimited.',
};
const returnUrl: JsonSchema = {
  type: ['string', 'null'],
  format: 'uri',
  maxLength: 2048,
  description: 'As of createCollection: the return link of its orders.',
};
const description: JsonSchema = {
  type: ['string', 'null'],
  maxLength: 120,
  description: 'Shown on the page of the link and at checkout.',
};

export const createLinkData: JsonSchema = {
  type: 'object',
  description:
    'The value is one of: `amount`; `price` and `currency`; `minAmount` and `maxAmount`; `minPrice`, `maxPrice` and `currency`. Only a price may leave the coin to the customer.',
  required: ['linkId'],
  anyOf: [
    { required: ['amount', 'symbol', 'chain'] },
    { required: ['price', 'currency'] },
    { required: ['minAmount', 'maxAmount', 'symbol', 'chain'] },
    { required: ['minPrice', 'maxPrice', 'currency'] },
  ],
  properties: {
    linkId,
    amount: orNull(requestAmount),
    price: value('Instead of the amount: a price in `currency`, with at most its minor units.'),
    minAmount: value('Instead of the amount: the least that the customer may enter.'),
    maxAmount: value('The most that the customer may enter.'),
    minPrice: value('The same in `currency`: the least that the customer may enter.'),
    maxPrice: value('The most that the customer may enter.'),
    currency: { type: ['string', 'null'], description: 'Of the prices: a code of ISO 4217.', examples: [] },
    symbol: orNull(requestSymbol),
    chain: orNull(chain),
    accept: {
      ...acceptedCoins,
      description:
        'With a price and without `symbol` and `chain`: the coins that the customer may choose. Default: all that are enabled and have a rate when the order is opened.',
    },
    uid: requestUid,
    description,
    returnUrl,
    stock,
    expiresAt: {
      ...orNull(unixSeconds('From then on the link opens no orders.')),
      examples: [1_798_761_600],
    },
  },
};

export const readLinkData: JsonSchema = { type: 'object', required: ['linkId'], properties: { linkId } };

export const closeLinkData: JsonSchema = {
  type: 'object',
  required: ['linkId', 'closed'],
  properties: {
    linkId,
    closed: {
      const: true,
      description: 'Always true. A signature covers only `data`, so that of `read` must not close.',
    },
  },
};

export const listLinksData: JsonSchema = {
  type: 'object',
  required: ['limit'],
  properties: {
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: LINKS_LISTED_MAX,
      description: 'Maximum number of links in the answer. Required: a signature covers only `data`.',
      examples: [20],
    },
    before: {
      ...orNull(linkId),
      description: '`next` of the page before: only older links.',
      examples: [],
    },
  },
};

const decimalText = (about: string): JsonSchema => ({
  type: 'string',
  pattern: '^[0-9]+(\\.[0-9]+)?$',
  description: about,
  examples: [],
});
const count = (about: string): JsonSchema => ({
  type: 'integer',
  minimum: 0,
  maximum: LINK_STOCK_MAX,
  description: `${about} ${LINK_STOCK_MAX} also stands for more.`,
  examples: [2],
});

const linkMembers = {
  linkId,
  url: {
    type: 'string',
    format: 'uri',
    description: 'The page of the link. `/qr.svg` after it is its QR code.',
    examples: ['https://pay.example.com/checkout/link/3q2-7wXvS8uJkPz0aBcDeF'],
  },
  state: {
    type: 'string',
    enum: ['OPEN', 'SOLD_OUT', 'EXPIRED', 'CLOSED'],
    description:
      'Only an OPEN link opens orders. SOLD_OUT: paid and open orders take up the stock; it returns to OPEN when one of them expires.',
  },
  symbol: orNull(text('Token symbol. Null, like the chain: the customer chooses the coin.')),
  chain: orNull(chain),
  accept: {
    ...acceptedCoins,
    description: 'Coins that the customer may choose. Null without a symbol: all that are enabled.',
    examples: [null],
  },
  uid,
  description: orNull(text('Shown on the page of the link and at checkout.')),
  returnUrl,
  stock,
  sold: count('Paid orders. May exceed the stock by late payments that an operator accepted.'),
  reserved: count('Orders that wait for a payment or for its confirmation.'),
  expiresAt: orNull(unixSeconds('From then on the link opens no orders.')),
  closedAt: orNull(unixSeconds('When it was closed.')),
  createdAt: unixSeconds('When it was created.'),
};

export const link: JsonSchema = {
  type: 'object',
  description: 'A payment link.',
  required: Object.keys(linkMembers),
  properties: {
    ...linkMembers,
    amount: { ...decimalText('Only of a link with an amount.'), examples: ['25.00'] },
    price: decimalText('Only of a link with a price.'),
    minAmount: decimalText('Only of a link with an open amount.'),
    maxAmount: decimalText('Only of a link with an open amount.'),
    minPrice: decimalText('Only of a link with an open price.'),
    maxPrice: decimalText('Only of a link with an open price.'),
    currency: { type: 'string', description: 'Only of a link with a price or an open price.', examples: [] },
  },
};

export const linkList: JsonSchema = {
  type: 'object',
  description: 'Links of the merchant, newest first.',
  required: ['links', 'next'],
  properties: {
    links: { type: 'array', items: { $ref: '#/components/schemas/PaymentLink' } },
    next: {
      ...orNull(linkId),
      description: 'For `before` of the next page; null at the end.',
      examples: [null],
    },
  },
};
