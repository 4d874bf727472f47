import { chain, decimal, object, orNull, text, type JsonSchema } from './schema-words.ts';

// Of orders that the customer may pay in several coins.

export const orderOption = object('A coin in which an order may be paid.', {
  chain,
  chainName: { ...text('Name of the chain, for display.'), examples: ['Ethereum Sepolia'] },
  symbol: text('Token symbol.'),
  contractAddress: orNull(text('Token contract; the coin type on SUI; null for a native coin.')),
  amount: decimal('Amount that pays the order completely.'),
  rate: {
    ...decimal('Price of one coin in `currency`, before the markup of the merchant.'),
    examples: ['0.9205'],
  },
  feeClass: {
    type: ['string', 'null'],
    enum: ['LOW', 'MEDIUM', 'HIGH', null],
    examples: ['HIGH'],
    description: 'Usual network fee of a payment; null where it is not known.',
  },
  requiredConfirmations: {
    type: ['integer', 'null'],
    minimum: 1,
    description: 'Null: the finality of the chain decides.',
    examples: [12],
  },
  expectedSeconds: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'Usual time until a payment is confirmed; null where it is not known.',
    examples: [144],
  },
  chainId: {
    type: ['integer', 'null'],
    minimum: 1,
    description: 'EIP-155; null for TRON and SUI.',
    examples: [11_155_111],
  },
  isTestNetwork: {
    type: 'boolean',
    description: 'The tokens of this chain have no value.',
    examples: [true],
  },
  chosen: {
    type: 'boolean',
    description: 'The customer has seen the address for this coin.',
    examples: [false],
  },
});

/** Adds optional members. */
export function withMembers(schema: JsonSchema, members: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { ...schema, properties: { ...(schema['properties'] as object), ...members } };
}

const chosen: JsonSchema = {
  type: 'boolean',
  examples: [],
  description: 'Only of an order with options: false until a coin is chosen.',
};
export const options: Readonly<Record<string, JsonSchema>> = {
  chosen: {
    ...chosen,
    description:
      'Only of an order with options. False: `address` is null, and coin, amount and rate are those of the first option.',
  },
  options: {
    type: 'array',
    examples: [],
    description: 'Only of an order with options: the coins in which it may be paid.',
    items: { $ref: '#/components/schemas/OrderOption' },
  },
};
export const coinOfAmounts: Readonly<Record<string, JsonSchema>> = {
  chain: { ...chain, examples: [], description: 'Only of an order with options: chain of the amounts.' },
  symbol: { ...text('Only of an order with options: token of the amounts.'), examples: [] },
  chosen,
};

export const payments: JsonSchema = {
  type: 'array',
  examples: [],
  description: 'Only of an order with options: what was paid in each coin in time.',
  items: object('A sum of payments.', {
    chain,
    symbol: text('Token symbol.'),
    amount: decimal('Amount that arrived.'),
  }),
};
