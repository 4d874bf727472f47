import { chain, chainWord, from, merchantId, openOnly, reason, symbol, until } from './fields.ts';
import { ALL_ROLES, FINANCE_ROLES } from './roles.ts';
import { act, csv, page } from './route.ts';
import {
  baseUnitsText,
  bool,
  decimalText,
  integer,
  moment,
  object,
  oneOf,
  orNull,
  text,
} from './typed-schema.ts';

const tag = 'Ledger';

const topUpRef = text('<chain>:<transaction>:<symbol>, or the reference of a measured gas top-up.', {
  pattern: '^[A-Za-z0-9_]{1,32}:[A-Za-z0-9:_-]{1,200}$',
});

export const ORDER_COLUMNS = [
  'order_pk',
  'merchant_id',
  'order_id',
  'order_type',
  'uid',
  'status',
  'reason',
  'chain',
  'symbol',
  'contract_address',
  'amount',
  'detected_amount',
  'actual_amount',
  'address',
  'source_address',
  'created_at',
  'expires_at',
  'updated_at',
] as const;
export const LEDGER_COLUMNS = [
  'ledger_tx_id',
  'created_at',
  'kind',
  'ref',
  'order_pk',
  'account',
  'merchant_id',
  'chain',
  'symbol',
  'amount_base_units',
  'amount',
] as const;

export const LEDGER_ROUTES = {
  listBalances: page('/v1/ledger/balances', {
    tag,
    roles: ALL_ROLES,
    summary: 'List the balances of ledger accounts; debits are positive',
    filters: { chain, symbol, merchantId, account: text('Kind of account.', { pattern: '^[A-Z_]{1,32}$' }) },
    answer: object('An account.', {
      account: text('Kind of account.'),
      chain,
      symbol,
      merchantId: orNull(merchantId),
      balanceBaseUnits: baseUnitsText('Balance.'),
      balance: orNull(decimalText('In display units; null where the token is not configured.')),
    }),
  }),
  bookTopUp: act('/v1/ledger/top-ups', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Book a transfer to a hot wallet',
    description:
      'The balances of the hot wallets at a verified block must cover it beyond what is booked, else 422. Transfers that the scanner detects are booked without this. A transaction is booked once, however often it is requested.',
    body: object('The transfer.', {
      chain,
      symbol,
      amount: decimalText('In display units.'),
      txid: chainWord('Hash of the transaction.'),
    }),
    answer: object('Result.', { booked: bool('false: it was booked before.'), ref: topUpRef }),
  }),
  listTopUps: page('/v1/ledger/top-ups', {
    tag,
    roles: ALL_ROLES,
    summary: 'List top-ups booked by hand',
    filters: { chain, symbol, open: openOnly },
    answer: object('A top-up.', {
      ref: topUpRef,
      chain,
      symbol,
      amountBaseUnits: baseUnitsText('Booked amount.'),
      amount: orNull(decimalText('In display units; null where the token is not configured.')),
      matchedBaseUnits: baseUnitsText('Part matched with transfers that the scanner found later.'),
      asOfHeight: orNull(integer('Block at which the balance was measured; null: not measured.')),
      bookedAt: moment('Time of booking.'),
      state: oneOf(
        ['OPEN', 'REPLACED', 'REVERSED'],
        'REPLACED: the scanner found its transfer, which was booked instead.',
      ),
    }),
  }),
  reverseTopUp: act('/v1/ledger/top-ups/reversals', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Reverse a wrong top-up that was booked by hand',
    description:
      'Reverses the part that no transfer was matched with. A second reversal changes nothing. 409 if its transfers were found on the chain, or if reserved money would lose its cover although the chain has it.',
    body: object('The top-up and the reason.', { ref: topUpRef, reason }),
    answer: object('Result.', {
      reversed: bool('false: it was reversed before.'),
      ref: topUpRef,
      chain,
      symbol,
      amountBaseUnits: baseUnitsText('Reversed amount.'),
    }),
  }),
  exportOrders: csv('/v1/exports/orders.csv', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Export the orders of a period as CSV',
    description:
      'By creation time, oldest first, as of the start of the export. A value that a spreadsheet could take for a formula is prefixed with an apostrophe. A truncated response is incomplete.',
    query: { from, until },
    columns: ORDER_COLUMNS,
  }),
  exportLedger: csv('/v1/exports/ledger.csv', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Export the postings of a period as CSV',
    description: 'In order of number, one line per posting; debits are positive.',
    query: { from, until },
    columns: LEDGER_COLUMNS,
  }),
};
