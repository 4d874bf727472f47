import { UNMATCHED_REASONS } from '@opentill/domain/settle-transfer';
import { UNMATCHED_COUNTED } from '../format-unmatched.ts';
import {
  chain,
  decimal,
  object,
  orderId,
  orderStatus,
  orNull,
  text,
  unixSeconds,
  type JsonSchema,
} from './schema-words.ts';

export const unmatchedTransfer = {
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

const chainName = {
  ...text('Name of the chain in the networks file, for display.'),
  examples: ['Ethereum Sepolia'],
};

export const UNMATCHED = 'Payments that arrived at the address and do not count, newest first, at most 20.';

export const unmatchedPayments: JsonSchema = {
  type: 'array',
  description: UNMATCHED,
  examples: [[]],
  items: object('A payment that does not count.', {
    ...unmatchedTransfer,
    chainName,
    explorerUrl: orNull({ type: 'string', format: 'uri', description: 'Explorer page of `txid`.' }),
  }),
};

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

export const payinOrder = object('A collection as the checkout page shows it.', {
  orderId,
  chain,
  chainName,
  symbol: text('Token symbol.'),
  contractAddress: orNull(text('Token contract; the coin type on SUI; null for a native coin.')),
  decimals: { type: 'integer', minimum: 0, description: 'Decimals of the token.' },
  address: orNull(text('Deposit address the customer pays to; null until a coin is chosen.')),
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
  explorerTxUrl: orNull({
    ...text('Explorer page of a transaction; replace `{txid}`.'),
    examples: ['https://sepolia.etherscan.io/tx/{txid}'],
  }),
  transactionTime: orNull(unixSeconds('Time of the block of `txid`.')),
  confirmedNum: { type: 'integer', minimum: 0, description: 'Current confirmations of `txid`.' },
  requiredConfirmations: {
    type: ['integer', 'null'],
    minimum: 1,
    description: 'Null: the chain’s finalized block is required, or its safe block, which may be replaced.',
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
  chainId: {
    type: ['integer', 'null'],
    minimum: 1,
    description: 'Chain id of an EVM chain (EIP-155); null for TRON and SUI.',
    examples: [11_155_111],
  },
  unmatched: unmatchedPayments,
  unmatchedCount: {
    type: 'integer',
    minimum: 0,
    maximum: UNMATCHED_COUNTED,
    description: `Number of payments that do not count; ${UNMATCHED_COUNTED} also stands for more.`,
    examples: [0],
  },
});
