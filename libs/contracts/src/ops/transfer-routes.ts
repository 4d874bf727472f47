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
import { ALL_ROLES, INCIDENT_ROLES } from './roles.ts';
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
const state = oneOf(['DETECTED', 'VERIFIED', 'ORPHANED'], 'ORPHANED: removed by a reorganisation.');

export const transfer = object('One token transfer to an address of the gateway, and how it was settled.', {
  transferId: integer('Id of the transfer.'),
  chain,
  txHash: text('Transaction.'),
  position: text('Position in the transaction.'),
  symbol,
  contractAddress,
  from: text('Sender.'),
  to: text('Receiver.'),
  amountBaseUnits: baseUnitsText('Amount.'),
  amount: orNull(decimalText('In display units; null where the token is not configured.')),
  blockHeight: integer('Height of its block.'),
  blockHash: text('Hash of its block.'),
  blockTime: moment('Time of the block.'),
  state,
  detectedAt: moment('Time of detection.'),
  verifiedAt: orNull(moment('Time of verification.')),
  orderPk: orNull(uuid('Order that it was settled for.')),
  booked: bool('Whether it is booked in the ledger.'),
  credited: bool('Whether it counts for an order in SUCCESS.'),
  unmatchedReason: orNull(oneOf(UNMATCHED_REASONS, 'Reason why it was not credited to an order.')),
});

export const TRANSFER_ROUTES = {
  listTransfers: page('/v1/transfers', {
    tag,
    roles: ALL_ROLES,
    summary: 'List transfers to addresses of the gateway',
    filters: {
      chain,
      symbol,
      state,
      address: chainWord('Receiver.'),
      txid: chainWord('Transaction.'),
      from,
      until,
    },
    answer: transfer,
  }),
  listUnmatchedDeposits: page('/v1/unmatched-deposits', {
    tag,
    roles: ALL_ROLES,
    summary: 'List deposits that were not credited to an order',
    filters: {
      merchantId,
      chain,
      symbol,
      reason: oneOf(UNMATCHED_REASONS, 'Reason.'),
      open: bool('true: only deposits with a remaining amount; false: only fully refunded ones.'),
    },
    answer: object('An unmatched deposit.', {
      reason: oneOf(UNMATCHED_REASONS, 'Reason.'),
      merchantId,
      orderPk: uuid('Order of the address.'),
      orderId,
      orderStatus: text('Status of the order.'),
      createdAt: moment('Time of recording.'),
      transfer,
      leftBaseUnits: baseUnitsText('Amount neither refunded nor being refunded.'),
      left: orNull(decimalText('In display units; null where the token is not configured.')),
    }),
  }),
  acceptDeposit: act('/v1/unmatched-deposits/{transferId}/accept', {
    tag,
    roles: INCIDENT_ROLES,
    summary: 'Accept an unmatched deposit for the expired order of its address',
    description:
      'A late or insufficient deposit in the order’s token: the order is accepted with all deposits in its own token, as by a decision about the order. A deposit in another token or on another chain also needs `worth`, its value for the order as stated by an operator (FINANCE or ADMIN); the credit is in its own asset. The tracker carries it out within seconds. Refused for an order that is open, paid or FAILED, and for a deposit that was partly refunded.',
    params: { transferId: integer('Id of the transfer.', { minimum: 1, maximum: 2 ** 53 - 1 }) },
    body: object(
      'Reason.',
      { reason },
      {
        worth: decimalText(
          "Value for the order, in display units of the order's token; only for a deposit in another token or on another chain.",
        ),
      },
    ),
    answer: object('The decision, which the tracker carries out.', {
      decisionId: uuid('Id of the decision.'),
      orderPk: uuid('Id of the order.'),
      orderId,
      merchantId,
      symbol,
      worth: orNull(decimalText("Value in the order's token; null: its own amount.")),
    }),
  }),
};
