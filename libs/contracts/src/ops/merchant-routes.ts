import { RATE_LIMIT_OVERRIDES_SCHEMA } from '../http/rate-limits.ts';
import { merchantId } from './fields.ts';
import { ADMINS, ANYBODY, SUPPORTERS } from './roles.ts';
import { act, page, read } from './route.ts';
import {
  bool,
  integer,
  list,
  moment,
  object,
  oneOf,
  open,
  orNull,
  text,
  words,
  type Schema,
} from './typed-schema.ts';

const tag = 'Merchants';
const url = text('http or https.', {
  pattern: '^https?://[^\\s\\u0000-\\u001f\\u007f\\ud800-\\udfff]+$',
  maxLength: 2048,
});
const origin = text('An origin as browsers spell it: https://shop.example', { maxLength: 300 });
const rateLimits = RATE_LIMIT_OVERRIDES_SCHEMA as unknown as Schema<Readonly<Record<string, unknown>>>;

/** The settings of a merchant that may be changed, and that may be left out. */
const settings = {
  name: words('Shown to operators.', 200),
  callbackUrl: orNull(url),
  returnOrigins: list(origin, 'All origins that returnUrl may have.', { maxItems: 50 }),
  signVersion: integer('Form of the signed message.', { minimum: 1, maximum: 2 }),
  orderTtlSeconds: integer('Until an order expires.', { minimum: 60, maximum: 86_400 }),
  underpaymentToleranceBps: integer('Accepted underpayment, in hundredths of a percent.', {
    minimum: 0,
    maximum: 10_000,
  }),
  lateGraceSeconds: integer('How late a payment may be.', { minimum: 0, maximum: 604_800 }),
  notifyReverted: bool('Send ORDER_REVERTED.'),
  rateLimits,
  enabled: bool('May call the API.'),
};

const merchant = object('A merchant without its secrets.', {
  merchantId,
  version: oneOf(['V2', 'V3'], 'Generation of the API it speaks.'),
  ...settings,
  callbackUrl: orNull(text('Where callbacks go.')),
  rateLimits: open('Its own limits.'),
  webhookSecretSwitchAt: orNull(moment('Until then callbacks carry the signatures of two secrets.')),
  endpointState: oneOf(['CLOSED', 'OPEN', 'DISABLED'], 'Of its callback endpoint; CLOSED is well.'),
  endpointSince: orNull(moment('Since when it is OPEN or DISABLED.')),
  disabledReason: orNull(text('Why it is DISABLED.')),
  createdAt: moment('When it was made.'),
  updatedAt: moment('When it was changed.'),
});

const callbackEndpoint = object('A merchant’s callbacks and what is known of its endpoint.', {
  merchantId,
  callbackUrl: orNull(text('Where callbacks go.')),
  state: oneOf(['CLOSED', 'OPEN', 'DISABLED'], 'CLOSED is well; OPEN rests.'),
  openedAt: orNull(moment('Since when it rests.')),
  probeAt: orNull(moment('Next attempt at an endpoint that rests.')),
  failuresInRow: integer('Failures since the last success.'),
  disabledAt: orNull(moment('Since when it is DISABLED.')),
  disabledReason: orNull(text('Why.')),
  lastFailedAt: orNull(moment('Last failure.')),
  lastErrorCode: orNull(text('Its kind.')),
  lastError: orNull(text('Its words.')),
  waiting: integer('Callbacks that wait.'),
  oldestSeconds: orNull({
    type: 'number',
    description: 'Since when the oldest of them waits.',
  } as Schema<number>),
  dead: integer('Callbacks that were given up.'),
});

export const MERCHANT_ROUTES = {
  listMerchants: page('/v1/merchants', {
    tag,
    roles: ANYBODY,
    summary: 'The shops that may call the API',
    answer: merchant,
  }),
  getMerchant: read('/v1/merchants/{merchantId}', {
    tag,
    roles: ANYBODY,
    summary: 'One shop',
    params: { merchantId },
    answer: merchant,
  }),
  createMerchant: act('/v1/merchants', {
    tag,
    roles: ADMINS,
    summary: 'Make a merchant',
    description: 'Token and webhook secret are in this answer and never again.',
    body: object(
      'The new merchant.',
      { merchantId },
      {
        version: oneOf(['V2', 'V3'], 'Default V3.'),
        name: settings.name,
        callbackUrl: settings.callbackUrl,
        returnOrigins: settings.returnOrigins,
      },
    ),
    answer: object('Its secrets.', {
      merchantId,
      token: text('Signs requests.'),
      webhookSecret: text('Verifies callbacks.'),
    }),
  }),
  setMerchant: act('/v1/merchants/{merchantId}', {
    method: 'PATCH',
    tag,
    roles: ADMINS,
    summary: 'Change settings of a merchant; what is not given stays',
    params: { merchantId },
    body: object('What changes.', {}, settings),
    answer: merchant,
  }),
  rotateToken: act('/v1/merchants/{merchantId}/token', {
    tag,
    roles: ADMINS,
    summary: 'Give a merchant a new token; the old one ends at once',
    params: { merchantId },
    answer: object('The new token.', { merchantId, token: text('Never shown again.') }),
  }),
  rotateWebhookSecret: act('/v1/merchants/{merchantId}/webhook-secret', {
    tag,
    roles: ADMINS,
    summary: 'Give a merchant a new webhook secret, or end the overlap of two',
    description:
      '`ROTATE` makes a new one, at once or after `overlapSeconds` in which callbacks carry the signatures of both. `FINISH` and `CANCEL` end an overlap: the new, or the old one alone stays.',
    params: { merchantId },
    body: object(
      'What to do.',
      { action: oneOf(['ROTATE', 'FINISH', 'CANCEL'], 'What to do.') },
      { overlapSeconds: integer('Of ROTATE.', { minimum: 0, maximum: 90 * 86_400 }) },
    ),
    answer: object('What holds now.', {
      merchantId,
      webhookSecret: orNull(text('The new one, of ROTATE; never shown again.')),
      switchAt: orNull(moment('When it alone signs; null: from now on.')),
    }),
  }),
  listCallbackEndpoints: page('/v1/callback-endpoints', {
    tag,
    roles: ANYBODY,
    summary: 'Each merchant’s backlog, endpoint and last failure',
    filters: { merchantId },
    answer: callbackEndpoint,
  }),
  enableCallbackEndpoint: act('/v1/merchants/{merchantId}/callback-endpoint/enable', {
    tag,
    roles: SUPPORTERS,
    summary: 'Send to an endpoint again that rests, or that answered 410',
    params: { merchantId },
    answer: callbackEndpoint,
  }),
};
