import { chain, chainWord, from, merchantId, openOnly, reason, symbol, until } from './fields.ts';
import { ANYBODY, TREASURERS } from './roles.ts';
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

const topUpRef = text('<chain>:<transaction>:<symbol>, or as a measure of coin for fees was booked.', {
  pattern: '^[A-Za-z0-9_]{1,32}:[A-Za-z0-9:_-]{1,200}$',
});

/** Columns of the exports, in their order. */
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
    roles: ANYBODY,
    summary: 'Balances of the ledger’s accounts; debits are positive',
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
    roles: TREASURERS,
    summary: 'Book what was sent to a hot wallet',
    description:
      'Checked first: the balances of the hot wallets at a verified block must cover it beyond what the ledger has, else 422. Transfers that the scanner sees are booked without this. The same transaction is booked once, however often it is asked for.',
    body: object('What was sent.', {
      chain,
      symbol,
      amount: decimalText('In display units.'),
      txid: chainWord('The transaction.'),
    }),
    answer: object('What was done.', { booked: bool('false: it had been booked before.'), ref: topUpRef }),
  }),
  listTopUps: page('/v1/ledger/top-ups', {
    tag,
    roles: ANYBODY,
    summary: 'Top-ups that were booked by hand',
    filters: { chain, symbol, open: openOnly },
    answer: object('A top-up.', {
      ref: topUpRef,
      chain,
      symbol,
      amountBaseUnits: baseUnitsText('What was booked.'),
      amount: orNull(decimalText('In display units; null where the token is not configured.')),
      matchedBaseUnits: baseUnitsText('Of it: transfers that the scanner found later.'),
      asOfHeight: orNull(integer('Block at which the chain was measured; null: it was not.')),
      bookedAt: moment('When it was booked.'),
      state: oneOf(['OPEN', 'REPLACED', 'REVERSED'], 'REPLACED: by its transfer, which the scanner found.'),
    }),
  }),
  reverseTopUp: act('/v1/ledger/top-ups/reversals', {
    tag,
    roles: TREASURERS,
    summary: 'Reverse a top-up that was booked by hand and is wrong',
    description:
      'As far as no transfer was matched with it. A second reversal changes nothing. 409 where its transfers were found on the chain, or where promised money would lose its cover although the chain has it.',
    body: object('Which, and why.', { ref: topUpRef, reason }),
    answer: object('What was done.', {
      reversed: bool('false: it had been reversed before.'),
      ref: topUpRef,
      chain,
      symbol,
      amountBaseUnits: baseUnitsText('What was taken back.'),
    }),
  }),
  exportOrders: csv('/v1/exports/orders.csv', {
    tag,
    roles: TREASURERS,
    summary: 'Orders of a time as CSV',
    description:
      'By creation, oldest first, as they stood when the export began. A value that a spreadsheet would take for a formula begins with an apostrophe. An answer that breaks off is not complete.',
    query: { from, until },
    columns: ORDER_COLUMNS,
  }),
  exportLedger: csv('/v1/exports/ledger.csv', {
    tag,
    roles: TREASURERS,
    summary: 'Postings of a time as CSV',
    description: 'By their number, one line a posting; positive amounts are debits.',
    query: { from, until },
    columns: LEDGER_COLUMNS,
  }),
};
