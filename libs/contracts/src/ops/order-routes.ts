import { chain, chainWord, from, linkId, merchantId, orderId, reason, symbol, until } from './fields.ts';
import {
  decision,
  DELIVERY_STATES,
  order,
  orderDetail,
  orderPk,
  orderStatus,
  orderType,
} from './order-views.ts';
import { ALL_ROLES, SUPPORT_ROLES } from './roles.ts';
import { act, page, read } from './route.ts';
import { integer, list, moment, object, oneOf, open, orNull, text, uuid } from './typed-schema.ts';

const tag = 'Orders';
const deliveryState = oneOf(DELIVERY_STATES, 'State.');
const eventId = uuid('The callback’s nonce.');
const replayStates = oneOf(
  ['DEAD', 'DELIVERED', 'ANY'],
  'States to replay; default DEAD, with an order ANY.',
);

export const ORDER_ROUTES = {
  listOrders: page('/v1/orders', {
    tag,
    roles: ALL_ROLES,
    summary: 'Search orders',
    filters: {
      merchantId,
      orderId,
      linkId,
      status: orderStatus,
      orderType,
      chain: { ...chain, description: 'Only orders that accept this chain.' },
      symbol: { ...symbol, description: 'Only orders that accept this symbol.' },
      address: chainWord('Deposit address of a collection, or receiver of a payout.'),
      txid: chainWord('A transaction that paid the order, or that was signed for it.'),
      from,
      until,
    },
    answer: order,
  }),
  getOrder: read('/v1/orders/{orderPk}', {
    tag,
    roles: ALL_ROLES,
    summary: 'Get everything known about an order',
    params: { orderPk },
    answer: orderDetail,
  }),
  decideOrder: act('/v1/orders/{orderPk}/decision', {
    tag,
    roles: SUPPORT_ROLES,
    summary: 'Accept an expired collection, or refuse one that is not SUCCESS',
    description:
      'The tracker carries it out within seconds, based on the state at that time. A payout is refused with a veto.',
    params: { orderPk },
    body: object('The decision.', { decision: oneOf(['ACCEPT', 'REFUSE'], 'Decision.'), reason }),
    answer: decision,
  }),
  listDeliveries: page('/v1/deliveries', {
    tag: 'Callbacks',
    roles: ALL_ROLES,
    summary: 'List callbacks and their delivery',
    filters: { merchantId, orderId, orderPk, state: deliveryState, from, until },
    answer: object('A callback and its delivery.', {
      eventId,
      merchantId,
      orderPk: orNull(orderPk),
      orderId: orNull(orderId),
      sequence: integer('Sequence number within the order.'),
      notifyType: text('Kind of callback.'),
      state: deliveryState,
      attempts: integer('Number of attempts.'),
      occurredAt: moment('Time of the event.'),
      nextAttemptAt: orNull(moment('Time of the next attempt.')),
      finishedAt: orNull(moment('Time at which delivery ended.')),
    }),
  }),
  replayDelivery: act('/v1/deliveries/{eventId}/replay', {
    tag: 'Callbacks',
    roles: SUPPORT_ROLES,
    summary: 'Send one callback again, whatever its state',
    params: { eventId },
    answer: object('The callback.', { eventId }),
  }),
  countReplay: read('/v1/deliveries/replay', {
    tag: 'Callbacks',
    roles: ALL_ROLES,
    summary: 'Count the callbacks that a replay would send, by state',
    query: { merchantId, orderId, since: from, until, states: replayStates },
    answer: list(
      object('Callbacks in one state.', { state: deliveryState, count: integer('Number of callbacks.') }),
      'By state, without callbacks that are already waiting.',
    ),
  }),
  replayDeliveries: act('/v1/deliveries/replay', {
    tag: 'Callbacks',
    roles: SUPPORT_ROLES,
    summary: 'Send the callbacks of an order, a merchant or a period again',
    description:
      'In the order of their events, at most `limit`. To continue, pass `next` of the answer as `after`. At least one of orderId, merchantId, since and until is required.',
    body: object(
      'Selection.',
      {},
      {
        merchantId,
        orderId,
        since: from,
        until,
        states: replayStates,
        limit: integer('Maximum number in this call.', { minimum: 1, maximum: 500, default: 100 }),
        after: text('`next` of the previous call.', { pattern: '^[A-Za-z0-9_-]{1,200}$' }),
      },
    ),
    answer: object('Result.', {
      outcomes: open('Callbacks by outcome: REPLAYED, WAITING, OTHER_STATE, NEWER_SENT, NO_ENDPOINT.'),
      next: orNull(text('Position for the next call; null: complete.')),
    }),
  }),
};
