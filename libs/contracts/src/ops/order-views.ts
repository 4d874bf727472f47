import { chain, contractAddress, linkId, merchantId, operatorId, orderId, symbol } from './fields.ts';
import { transfer } from './transfer-routes.ts';
import {
  baseUnitsText,
  bool,
  decimalText,
  integer,
  list,
  moment,
  object,
  oneOf,
  open,
  orNull,
  text,
  uuid,
  type Properties,
  type Schema,
} from './typed-schema.ts';

export const ORDER_STATUSES = [
  'INIT',
  'PENDING',
  'PENDING_CONFIRMATION',
  'SUCCESS',
  'EXPIRED',
  'FAILED',
] as const;
const ORDER_TYPES = ['COLLECTION', 'PAYOUT'] as const;
export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'SUPERSEDED', 'DEAD'] as const;
export const PAYOUT_STATES = ['REQUESTED', 'AUTHORISED', 'SIGNED', 'REFUSED', 'EXPIRED'] as const;

export const orderPk = uuid('Id of the order in the gateway.');
export const orderType = oneOf(ORDER_TYPES, 'Type of the order: incoming or outgoing payment.');
export const orderStatus = oneOf(ORDER_STATUSES, 'Status.');

const summary = {
  orderPk,
  merchantId,
  orderId,
  orderType,
  uid: orNull(text('User id given by the merchant.')),
  linkId: orNull(linkId),
  status: orderStatus,
  reason: orNull(text('Reason of the status.')),
  chain,
  symbol,
  contractAddress,
  amount: decimalText('Requested amount.'),
  detectedAmount: decimalText('Amount detected in time so far.'),
  actualAmount: orNull(decimalText('Confirmed amount.')),
  address: orNull(
    text(
      'Deposit address of a collection, or receiver of a payout. null: the customer has not chosen a coin yet.',
    ),
  ),
  sourceAddress: orNull(text('Hot wallet of a payout.')),
  createdAt: moment('Time of creation.'),
  expiresAt: moment('Time of expiry.'),
  updatedAt: moment('Time of the last change.'),
};
const option = {
  chain,
  symbol,
  contractAddress,
  amount: decimalText('Amount that pays the order completely.'),
  rate: decimalText('Price of one coin in the currency, before the markup.'),
  confirmationsRequired: orNull(integer('null: the tag finalized or safe is required.')),
  address: orNull(text('Address of the order in this family of chains; null: none yet.')),
  chosenAt: orNull(moment('Time of the first choice.')),
  isCurrent: bool('The coin that the customer chose last.'),
};
const optionsWith = <P extends Properties>(members: P) =>
  list(
    object('A coin in which the order may be paid.', members),
    'Coins that the customer may choose; empty for an order of one coin. The amounts of the order are in the chosen coin.',
  );

export const order = object('An order.', {
  ...summary,
  options: optionsWith(option),
});

const attempt = object('One HTTP request of a callback.', {
  attempt: integer('Number of the attempt.'),
  startedAt: moment('Time of the request.'),
  durationMs: integer('Duration in milliseconds.'),
  statusCode: orNull(integer('HTTP status of the answer.')),
  errorCode: orNull(text('Error code.')),
  error: orNull(text('Error message.')),
  excerpt: orNull(text('Beginning of the answer; untrusted content.')),
});

const notification = object('A callback and its delivery.', {
  eventId: uuid('Nonce of the callback.'),
  sequence: integer('Sequence number within the order.'),
  notifyType: text('Kind of callback.'),
  occurredAt: moment('Time of the event.'),
  deliveryState: orNull(oneOf(DELIVERY_STATES, 'null: not yet queued.')),
  attempts: integer('Number of attempts.'),
  nextAttemptAt: orNull(moment('Time of the next attempt; null: none is due.')),
  finishedAt: orNull(moment('Time at which delivery ended.')),
  attemptList: list(attempt, 'Recorded attempts.'),
});

const ledgerEntry = object('A transaction of the ledger.', {
  ledgerTxId: integer('Number.'),
  ref: text('Reference of the booked event.'),
  kind: text('Kind of ledger transaction.'),
  createdAt: moment('Time of booking.'),
  postings: list(
    object('A posting.', {
      account: text('Kind of account.'),
      chain,
      symbol,
      merchantId: orNull(merchantId),
      amountBaseUnits: baseUnitsText('Positive: debit.'),
    }),
    'Postings; they sum to zero.',
  ),
});

export const nonce = object('A nonce of a hot wallet.', {
  chain,
  wallet: text('Hot wallet.'),
  nonce: integer('Nonce.'),
  state: oneOf(['RESERVED', 'SIGNED', 'FINAL', 'TAKEN'], 'TAKEN: another transaction used it.'),
  purpose: oneOf(['PAYOUT', 'CANCEL'], 'Use of the nonce.'),
  orderPk: orNull(orderPk),
  updatedAt: moment('Time of the last change.'),
});

const timedAttempt = object('An attempt that ends by time, on chains without nonces.', {
  state: oneOf(
    ['OPEN', 'SETTLED', 'DEAD'],
    'OPEN: it may land, or has landed and is not verified. SETTLED: verified in a block. DEAD: proven not to have landed in time; the payout may get another one.',
  ),
  expiresAt: moment('No later block can include it.'),
});

const ownTransaction = object('A transaction that the gateway signed. Only the signer reads its bytes.', {
  chain,
  txHash: text('Hash.'),
  wallet: text('Hot wallet.'),
  nonce: orNull(integer('Nonce.')),
  purpose: oneOf(['PAYOUT', 'CANCEL'], 'Use of the transaction.'),
  to: text('Receiver.'),
  amountBaseUnits: baseUnitsText('Intended amount.'),
  feeTerms: open('Fee terms of the transaction.'),
  signedAt: moment('Time of signing.'),
  firstSentAt: orNull(moment('Time of the first broadcast.')),
  lastSentAt: orNull(moment('Time of the last broadcast.')),
  sendOutcome: orNull(text('Result of the last broadcast.')),
  attempt: orNull(timedAttempt),
  fate: orNull(
    object('State of the transaction on chain.', {
      state: oneOf(['MINED', 'VERIFIED', 'ORPHANED'], 'VERIFIED: final.'),
      succeeded: bool('Status of the receipt.'),
      deliveredBaseUnits: baseUnitsText('Amount delivered to the receiver.'),
      networkFeeBaseUnits: baseUnitsText('Network fee in the native coin.'),
      blockHeight: orNull(integer('Height of its block.')),
      blockTime: orNull(moment('Time of the block.')),
    }),
  ),
});

const approval = object('An approval as submitted. The signer verifies it.', {
  approver: text('Public key, hex.'),
  approvedAt: moment('Time of submission.'),
});
const veto = object('A veto.', {
  operator: operatorId,
  reason: text('Reason.'),
  vetoedAt: moment('Time of the veto.'),
});

export const payout = object('A payout and its state at the signer.', {
  orderPk,
  merchantId,
  orderId,
  chain,
  symbol,
  contractAddress,
  amount: decimalText('Requested amount.'),
  amountBaseUnits: baseUnitsText('Requested amount.'),
  receiver: text('Receiver.'),
  wallet: text('Hot wallet that pays.'),
  state: oneOf(PAYOUT_STATES, 'State at the signer.'),
  orderStatus,
  waitingForApproval: bool('Waits for approvals of operators; it does not expire meanwhile.'),
  waitingSince: orNull(moment('Time since which it waits for approval.')),
  obstacle: orNull(text('Reason why it is not signed or not in a block yet.')),
  obstacleAt: orNull(moment('Time since which the obstacle exists.')),
  reason: orNull(text('Reason why it was refused or expired.')),
  createdAt: moment('Time of creation.'),
  expiresAt: moment('Time of expiry unless it is signed.'),
  authorisedAt: orNull(moment('Time at which the policy allowed it.')),
  firstSentAt: orNull(moment('Time of the first broadcast.')),
  approvals: list(approval, 'Submitted approvals.'),
  veto: orNull(veto),
});

export const incident = object('A case that an operator must examine.', {
  incidentId: uuid('Id of the incident.'),
  kind: text('Kind.'),
  chain,
  symbol: orNull(symbol),
  orderPk: orNull(orderPk),
  transferId: orNull(integer('Id of the transfer.')),
  details: open('Details of the kind.'),
  openedAt: moment('Time of opening.'),
  closedAt: orNull(moment('Time of closing.')),
  closedBy: orNull(text('Operator who closed it.')),
  closedReason: orNull(text('Reason of closing.')),
});

export const decision = object("An operator's decision about an order; the tracker carries it out.", {
  decisionId: uuid('Id of the decision.'),
  orderPk,
  decision: oneOf(['ACCEPT', 'REFUSE'], 'Decision.'),
  reason: text('Reason.'),
  operator: operatorId,
  decidedAt: moment('Time of the decision.'),
  handledAt: orNull(moment('Time at which the tracker handled it.')),
  outcome: orNull(
    oneOf(['DONE', 'NOT_POSSIBLE'], 'NOT_POSSIBLE: the state of the order no longer allowed it.'),
  ),
});

export const cursor = object('Progress of reading a chain.', {
  headHeight: integer('Newest block of the nodes.'),
  headTime: moment('Time of that block.'),
  finalizedHeight: orNull(
    integer('Newest block that the chain calls final; null with the tag safe or a number of confirmations.'),
  ),
  seenHeight: integer('Last block read at the head.'),
  verifiedHeight: integer('Last block read again at depth; credits rest on it.'),
  verifiedTime: moment('Time of that block; decides about expiry.'),
  lagBlocks: integer('Head minus seen height.'),
  verifiedLagBlocks: integer('Head minus verified height.'),
  updatedAt: moment('Time of the last commit of the scanner.'),
  ageSeconds: { type: 'number', description: 'Seconds since that commit.' } as Schema<number>,
});

const pricing = object('How the amount was computed.', {
  currency: text('Currency of the price (ISO 4217).'),
  price: decimalText('Price.'),
  rate: decimalText('Price of one coin in the currency, before the markup.'),
  markupBps: integer('Markup of the merchant at creation, in hundredths of a percent.'),
  kind: oneOf(
    ['PEG', 'MARKET', 'MANUAL'],
    'PEG: par. MARKET: agreed by sources. MANUAL: set by the operator.',
  ),
  takenAt: moment('Time of the rate.'),
  sources: list(
    object('Answer of a source.', {
      source: text('Name.'),
      pair: text('Pair.'),
      value: decimalText('Price.'),
      at: moment('Time of the price.'),
    }),
    'Answers on which the rate rests.',
  ),
});

export const orderDetail = object('An order with all related records.', {
  order: object('The order.', {
    ...summary,
    acceptedAmount: decimalText('Minimum amount that pays the order.'),
    confirmationsRequired: orNull(integer('null: the tag finalized or safe is required.')),
    lateGraceSeconds: integer('Seconds after expiry in which a payment is still accepted.'),
    returnUrl: orNull(text('Return link to the shop.')),
    description: orNull(text('Description given by the merchant.')),
    version: integer('Increases with every change.'),
  }),
  pricing: orNull(pricing),
  options: optionsWith({ ...option, chainCursor: orNull(cursor) }),
  chainCursor: orNull(cursor),
  transfers: list(transfer, 'Transfers to its address, oldest first.'),
  notifications: list(notification, 'Callbacks, oldest first.'),
  ledger: list(ledgerEntry, 'Ledger transactions, oldest first.'),
  payout: orNull(payout),
  nonces: list(nonce, 'Nonces used for it.'),
  ownTransactions: list(ownTransaction, 'Transactions signed for it.'),
  decisions: list(decision, 'Decisions of operators.'),
  incidents: list(incident, 'Incidents about it.'),
});
