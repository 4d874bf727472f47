import { chain, chainWord, from, merchantId, orderId, reason, symbol, until } from './fields.ts';
import {
  decision,
  DELIVERY_STATES,
  order,
  orderDetail,
  orderPk,
  orderStatus,
  orderType,
} from './order-views.ts';
import { ANYBODY, SUPPORTERS } from './roles.ts';
import { act, page, read } from './route.ts';
import { integer, list, moment, object, oneOf, open, orNull, text, uuid } from './typed-schema.ts';

const tag = 'Orders';
const deliveryState = oneOf(DELIVERY_STATES, 'State.');
const eventId = uuid('The callback’s nonce.');
const replayStates = oneOf(['DEAD', 'DELIVERED', 'ANY'], 'Which; default DEAD, with an order ANY.');

export const ORDER_ROUTES = {
  listOrders: page('/v1/orders', {
    tag,
    roles: ANYBODY,
    summary: 'Orders, searched by anything that names them',
    filters: {
      merchantId,
      orderId,
      status: orderStatus,
      orderType,
      chain,
      symbol,
      address: chainWord('Deposit address, or receiver of a payout.'),
      txid: chainWord('A transaction that paid it, or that was signed for it.'),
      from,
      until,
    },
    answer: order,
  }),
  getOrder: read('/v1/orders/{orderPk}', {
    tag,
    roles: ANYBODY,
    summary: 'Everything known of an order',
    params: { orderPk },
    answer: orderDetail,
  }),
  decideOrder: act('/v1/orders/{orderPk}/decision', {
    tag,
    roles: SUPPORTERS,
    summary: 'Accept a collection that expired, or refuse one that is not SUCCESS',
    description:
      'The tracker carries it out within seconds and judges by the state of that moment. A payout is refused by a veto.',
    params: { orderPk },
    body: object('The decision.', { decision: oneOf(['ACCEPT', 'REFUSE'], 'What.'), reason }),
    answer: decision,
  }),
  listDeliveries: page('/v1/deliveries', {
    tag: 'Callbacks',
    roles: ANYBODY,
    summary: 'Callbacks on their way',
    filters: { merchantId, orderId, orderPk, state: deliveryState, from, until },
    answer: object('A callback on its way.', {
      eventId,
      merchantId,
      orderPk: orNull(orderPk),
      orderId: orNull(orderId),
      sequence: integer('Place in its order.'),
      notifyType: text('Kind.'),
      state: deliveryState,
      attempts: integer('So many were made.'),
      occurredAt: moment('When it happened.'),
      nextAttemptAt: orNull(moment('Next attempt.')),
      finishedAt: orNull(moment('Ended.')),
    }),
  }),
  replayDelivery: act('/v1/deliveries/{eventId}/replay', {
    tag: 'Callbacks',
    roles: SUPPORTERS,
    summary: 'Send one callback again, whatever became of it',
    params: { eventId },
    answer: object('Done.', { eventId }),
  }),
  countReplay: read('/v1/deliveries/replay', {
    tag: 'Callbacks',
    roles: ANYBODY,
    summary: 'How many callbacks a replay would mean, by state',
    query: { merchantId, orderId, since: from, until, states: replayStates },
    answer: list(
      object('So many.', { state: deliveryState, count: integer('Callbacks.') }),
      'By state; what waits already is not among them.',
    ),
  }),
  replayDeliveries: act('/v1/deliveries/replay', {
    tag: 'Callbacks',
    roles: SUPPORTERS,
    summary: 'Send callbacks of an order, a merchant or a time again',
    description:
      'In the order in which they happened, at most `limit` of them; with `next` of the answer as `after`, the ones behind. At least one of orderId, merchantId, since and until is needed.',
    body: object(
      'Which.',
      {},
      {
        merchantId,
        orderId,
        since: from,
        until,
        states: replayStates,
        limit: integer('The most of this call.', { minimum: 1, maximum: 500, default: 100 }),
        after: text('`next` of the call before.', { pattern: '^[A-Za-z0-9_-]{1,200}$' }),
      },
    ),
    answer: object('What was done.', {
      outcomes: open('Callbacks by outcome: REPLAYED, WAITING, OTHER_STATE, NEWER_SENT, NO_ENDPOINT.'),
      next: orNull(text('Where the next call goes on; null: that was all.')),
    }),
  }),
};
