import {
  chain,
  chainWord,
  contractAddress,
  from,
  merchantId,
  orderId,
  reason,
  symbol,
  until,
} from './fields.ts';
import { ANYBODY, CLOSERS } from './roles.ts';
import { act, page } from './route.ts';
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
    filters: {
      merchantId,
      chain,
      symbol,
      reason: oneOf(UNMATCHED_REASONS, 'Why.'),
      open: bool(
        'true: only those of which something is left; false: only those that were given back whole.',
      ),
    },
    answer: object('An unmatched deposit.', {
      reason: oneOf(UNMATCHED_REASONS, 'Why.'),
      merchantId,
      orderPk: uuid('The order of the address.'),
      orderId,
      orderStatus: text('How it stands with the order.'),
      createdAt: moment('Recorded.'),
      transfer,
      leftBaseUnits: baseUnitsText('What was not given back, and is not about to be.'),
      left: orNull(decimalText('In display units; null where the token is not configured.')),
    }),
  }),
  acceptDeposit: act('/v1/unmatched-deposits/{transferId}/accept', {
    tag,
    roles: CLOSERS,
    summary: 'Take an unmatched deposit for the order of its address, which has expired',
    description:
      'Late or too little: the order is accepted with all that came in its own token, as by a decision of the order. Of another token or on another chain: with it too, for what an operator says that it counts as (FINANCE or ADMIN); it is credited as what it is. The tracker carries it out within seconds. Refused where it makes no sense: an order that is open, paid or FAILED; a deposit of which something was given back.',
    params: { transferId: integer('Its number.', { minimum: 1, maximum: 2 ** 53 - 1 }) },
    body: object(
      'Why.',
      { reason },
      {
        worth: decimalText(
          "What it counts as, in display units of the order's token; of a deposit in another token or on another chain alone.",
        ),
      },
    ),
    answer: object('The tracker carries it out.', {
      decisionId: uuid('The decision.'),
      orderPk: uuid('The order.'),
      orderId,
      merchantId,
      symbol,
      worth: orNull(decimalText("What it counts as in the order's token; null: as what it is.")),
    }),
  }),
};
