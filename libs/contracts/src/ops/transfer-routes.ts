import { chain, chainWord, contractAddress, from, merchantId, orderId, symbol, until } from './fields.ts';
import { ANYBODY } from './roles.ts';
import { page } from './route.ts';
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
  uuid,
} from './typed-schema.ts';

const tag = 'Transfers';
const UNMATCHED_REASONS = [
  'WRONG_TOKEN',
  'WRONG_CHAIN',
  'LATE',
  'UNDERPAID',
  'AFTER_SUCCESS',
  'ORDER_FAILED',
] as const;
const state = oneOf(['DETECTED', 'VERIFIED', 'ORPHANED'], 'ORPHANED: a reorganisation took it back.');

export const transfer = object('One token movement to an address of the gateway, and what was made of it.', {
  transferId: integer('Its number here.'),
  chain,
  txHash: text('Transaction.'),
  position: text('Place in it.'),
  symbol,
  contractAddress,
  from: text('Sender.'),
  to: text('Receiver.'),
  amountBaseUnits: baseUnitsText('Amount.'),
  amount: orNull(decimalText('In display units; null where the token is not configured.')),
  blockHeight: integer('Its block.'),
  blockHash: text('Its block.'),
  blockTime: moment('Time of the block.'),
  state,
  detectedAt: moment('First seen.'),
  verifiedAt: orNull(moment('Verified.')),
  orderPk: orNull(uuid('The order it was settled for.')),
  booked: bool('Stands in the ledger.'),
  credited: bool('Part of a SUCCESS order.'),
  unmatchedReason: orNull(oneOf(UNMATCHED_REASONS, 'Why no order could take it.')),
});

export const TRANSFER_ROUTES = {
  listTransfers: page('/v1/transfers', {
    tag,
    roles: ANYBODY,
    summary: 'Transfers to addresses of the gateway',
    filters: {
      chain,
      symbol,
      state,
      address: chainWord('The receiver.'),
      txid: chainWord('The transaction.'),
      from,
      until,
    },
    answer: transfer,
  }),
  listUnmatchedDeposits: page('/v1/unmatched-deposits', {
    tag,
    roles: ANYBODY,
    summary: 'Money on deposit addresses that no order could take',
    filters: { merchantId, chain, symbol, reason: oneOf(UNMATCHED_REASONS, 'Why.') },
    answer: object('An unmatched deposit.', {
      reason: oneOf(UNMATCHED_REASONS, 'Why.'),
      merchantId,
      orderPk: uuid('The order of the address.'),
      orderId,
      createdAt: moment('Recorded.'),
      transfer,
    }),
  }),
};
