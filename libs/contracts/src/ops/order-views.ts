import { chain, contractAddress, merchantId, operatorId, orderId, symbol } from './fields.ts';
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

export const orderPk = uuid('The gateway’s id of an order.');
export const orderType = oneOf(ORDER_TYPES, 'To receive, or to send.');
export const orderStatus = oneOf(ORDER_STATUSES, 'Status.');

const summary = {
  orderPk,
  merchantId,
  orderId,
  orderType,
  uid: orNull(text('User of the shop.')),
  status: orderStatus,
  reason: orNull(text('Of the status.')),
  chain,
  symbol,
  contractAddress,
  amount: decimalText('Requested.'),
  detectedAmount: decimalText('Seen in time so far.'),
  actualAmount: orNull(decimalText('Confirmed.')),
  address: text('Deposit address, or the payout’s receiver.'),
  sourceAddress: orNull(text('Hot wallet of a payout.')),
  createdAt: moment('Made.'),
  expiresAt: moment('Expires.'),
  updatedAt: moment('Changed.'),
};
export const order = object('An order.', summary);

const attempt = object('One HTTP request of a callback.', {
  attempt: integer('Number of it.'),
  startedAt: moment('Begun.'),
  durationMs: integer('Milliseconds.'),
  statusCode: orNull(integer('Answer.')),
  errorCode: orNull(text('What went wrong.')),
  error: orNull(text('In words.')),
  excerpt: orNull(text('Beginning of what a stranger’s server answered.')),
});

const notification = object('A callback and what became of it.', {
  eventId: uuid('Its nonce.'),
  sequence: integer('Place in its order.'),
  notifyType: text('Kind.'),
  occurredAt: moment('When it happened.'),
  deliveryState: orNull(oneOf(DELIVERY_STATES, 'null: not yet queued.')),
  attempts: integer('So many were made.'),
  nextAttemptAt: orNull(moment('Next one; null: none is due.')),
  finishedAt: orNull(moment('When it ended.')),
  attemptList: list(attempt, 'Those on record.'),
});

const ledgerEntry = object('A transaction of the ledger.', {
  ledgerTxId: integer('Number.'),
  ref: text('What it stands for.'),
  kind: text('Kind.'),
  createdAt: moment('Booked.'),
  postings: list(
    object('A posting.', {
      account: text('Kind of account.'),
      chain,
      symbol,
      merchantId: orNull(merchantId),
      amountBaseUnits: baseUnitsText('Positive: debit.'),
    }),
    'They sum to zero.',
  ),
});

export const nonce = object('A nonce of a hot wallet.', {
  chain,
  wallet: text('Hot wallet.'),
  nonce: integer('Nonce.'),
  state: oneOf(['RESERVED', 'SIGNED', 'FINAL', 'TAKEN'], 'TAKEN: another transaction used it.'),
  purpose: oneOf(['PAYOUT', 'CANCEL'], 'What it is used for.'),
  orderPk: orNull(orderPk),
  updatedAt: moment('Changed.'),
});

/** Of chains without nonces. */
const timedAttempt = object('Where no nonce orders transactions: one that ends by time.', {
  state: oneOf(
    ['OPEN', 'SETTLED', 'DEAD'],
    'OPEN: it may land, or has and is not verified. SETTLED: verified in a block. DEAD: proven to have landed nowhere in its time; the payout may get another one.',
  ),
  expiresAt: moment('No block of a later time may hold it.'),
});

const ownTransaction = object(
  'A transaction that the gateway signed. Its bytes are nobody’s but the signer’s.',
  {
    chain,
    txHash: text('Hash.'),
    wallet: text('Hot wallet.'),
    nonce: orNull(integer('Nonce.')),
    purpose: oneOf(['PAYOUT', 'CANCEL'], 'What for.'),
    to: text('Receiver.'),
    amountBaseUnits: baseUnitsText('Intended amount.'),
    feeTerms: open('What it offers for its place in a block.'),
    signedAt: moment('Signed.'),
    firstSentAt: orNull(moment('First broadcast.')),
    lastSentAt: orNull(moment('Last broadcast.')),
    sendOutcome: orNull(text('What the nodes said.')),
    attempt: orNull(timedAttempt),
    fate: orNull(
      object('What the chain says.', {
        state: oneOf(['MINED', 'VERIFIED', 'ORPHANED'], 'VERIFIED: final.'),
        succeeded: bool('Status of the receipt.'),
        deliveredBaseUnits: baseUnitsText('Arrived at the receiver.'),
        networkFeeBaseUnits: baseUnitsText('Paid in the native coin.'),
        blockHeight: orNull(integer('Its block.')),
        blockTime: orNull(moment('Time of the block.')),
      }),
    ),
  },
);

const approval = object('An approval as it was handed in. The signer judges it.', {
  approver: text('Public key, hex.'),
  approvedAt: moment('Handed in.'),
});
const veto = object('A veto.', {
  operator: operatorId,
  reason: text('Why.'),
  vetoedAt: moment('When.'),
});

export const payout = object('A payout on its way.', {
  orderPk,
  merchantId,
  orderId,
  chain,
  symbol,
  contractAddress,
  amount: decimalText('Requested.'),
  amountBaseUnits: baseUnitsText('Requested.'),
  receiver: text('Who gets it.'),
  wallet: text('Hot wallet that pays.'),
  state: oneOf(PAYOUT_STATES, 'What the signer made of it.'),
  orderStatus,
  waitingForApproval: bool('It waits for approvals of operators; its clock stands.'),
  waitingSince: orNull(moment('Since when it waits for approval.')),
  obstacle: orNull(text('Why it is not signed yet, or in no block.')),
  obstacleAt: orNull(moment('Since when.')),
  reason: orNull(text('Why it was refused or expired.')),
  createdAt: moment('Made.'),
  expiresAt: moment('Expires unless it is signed.'),
  authorisedAt: orNull(moment('Passed the policy.')),
  firstSentAt: orNull(moment('First broadcast.')),
  approvals: list(approval, 'Handed in.'),
  veto: orNull(veto),
});

export const incident = object('Something that an operator must look at.', {
  incidentId: uuid('Its id.'),
  kind: text('Kind.'),
  chain,
  symbol: orNull(symbol),
  orderPk: orNull(orderPk),
  transferId: orNull(integer('Transfer.')),
  details: open('What is known.'),
  openedAt: moment('Opened.'),
  closedAt: orNull(moment('Closed.')),
  closedBy: orNull(text('By whom.')),
  closedReason: orNull(text('Why.')),
});

export const decision = object('What an operator decided of an order; the tracker carries it out.', {
  decisionId: uuid('Its id.'),
  orderPk,
  decision: oneOf(['ACCEPT', 'REFUSE'], 'What.'),
  reason: text('Why.'),
  operator: operatorId,
  decidedAt: moment('When.'),
  handledAt: orNull(moment('When the tracker came to it.')),
  outcome: orNull(
    oneOf(['DONE', 'NOT_POSSIBLE'], 'NOT_POSSIBLE: the state of the order did not allow it any more.'),
  ),
});

export const cursor = object('How far a chain has been read.', {
  headHeight: integer('Newest block of the node.'),
  headTime: moment('Its time.'),
  finalizedHeight: orNull(integer('What the chain calls final.')),
  seenHeight: integer('Read as it came.'),
  verifiedHeight: integer('Read again, deep enough: this credits.'),
  verifiedTime: moment('Time of that block; expiry goes by it.'),
  lagBlocks: integer('Head less seen.'),
  verifiedLagBlocks: integer('Head less verified.'),
  updatedAt: moment('Last commit of the scanner.'),
  ageSeconds: { type: 'number', description: 'Seconds since then.' } as Schema<number>,
});

/** Everything known of an order, in the order in which a payment walks. */
export const orderDetail = object('An order and everything that is known of it.', {
  order: object('The order.', {
    ...summary,
    acceptedAmount: decimalText('What has to arrive.'),
    confirmationsRequired: orNull(integer('null: the finalized tag decides.')),
    lateGraceSeconds: integer('How late a payment may be.'),
    returnUrl: orNull(text('Way back to the shop.')),
    description: orNull(text('Of the shop.')),
    version: integer('Grows with every change.'),
  }),
  chainCursor: orNull(cursor),
  transfers: list(transfer, 'To its address, oldest first.'),
  notifications: list(notification, 'Callbacks, oldest first.'),
  ledger: list(ledgerEntry, 'Oldest first.'),
  payout: orNull(payout),
  nonces: list(nonce, 'Used for it.'),
  ownTransactions: list(ownTransaction, 'Signed for it.'),
  decisions: list(decision, 'Of operators.'),
  incidents: list(incident, 'About it.'),
});
