import { RATE_LIMIT_OVERRIDES_SCHEMA } from '../http/rate-limits.ts';
import { LOGO_BYTES_MAX } from '../logo/check-logo.ts';
import { merchantId } from './fields.ts';
import { ADMIN_ROLES, ALL_ROLES, SUPPORT_ROLES } from './roles.ts';
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
const url = text('http or https URL.', {
  pattern: '^https?://[^\\s\\u0000-\\u001f\\u007f\\ud800-\\udfff]+$',
  maxLength: 2048,
});
const origin = text('Origin as browsers write it: https://shop.example', { maxLength: 300 });
const logo = text(
  'SVG or PNG in base64, at most 64 KiB before encoding. An SVG must not contain scripts, event handlers, references to other files, or entities.',
  { pattern: '^[A-Za-z0-9+/]+={0,2}$', maxLength: 4 * Math.ceil(LOGO_BYTES_MAX / 3) },
);
const rateLimits = RATE_LIMIT_OVERRIDES_SCHEMA as unknown as Schema<Readonly<Record<string, unknown>>>;

const settings = {
  name: words('Name shown to operators and, unless it is the id, on the checkout page.', 200),
  callbackUrl: orNull(url),
  returnOrigins: list(origin, 'Allowed origins of returnUrl.', { maxItems: 50 }),
  signVersion: integer('Version of the signed message.', { minimum: 1, maximum: 2 }),
  orderTtlSeconds: integer('Seconds until an order expires.', { minimum: 60, maximum: 86_400 }),
  underpaymentToleranceBps: integer('Accepted underpayment, in hundredths of a percent.', {
    minimum: 0,
    maximum: 10_000,
  }),
  markupBps: integer('Added to amounts that are computed from a price, in hundredths of a percent.', {
    minimum: 0,
    maximum: 10_000,
  }),
  lateGraceSeconds: integer('Seconds after expiry in which a payment is still accepted.', {
    minimum: 0,
    maximum: 604_800,
  }),
  notifyReverted: bool('Whether to send ORDER_REVERTED.'),
  notifyUnmatched: bool('Whether to send ORDER_UNMATCHED.'),
  accentColor: orNull(text('Colour of the checkout page: #rrggbb.', { pattern: '^#[0-9a-fA-F]{6}$' })),
  supportUrl: orNull(url),
  supportEmail: orNull(
    text('Mail address for customers.', {
      pattern: '^[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+$',
      maxLength: 254,
    }),
  ),
  shopUrl: orNull(url),
  rateLimits,
  enabled: bool('Whether the merchant may call the API.'),
};

const merchant = object('A merchant, without its secrets.', {
  merchantId,
  version: oneOf(['V2', 'V3'], 'API version that the merchant uses.'),
  ...settings,
  callbackUrl: orNull(text('URL of the callback endpoint.')),
  logoType: orNull(oneOf(['image/svg+xml', 'image/png'], 'Type of the logo.')),
  logoHash: orNull(text('SHA-256 of the logo in hex.')),
  rateLimits: open('Rate limits of the merchant; defaults apply to the others.'),
  webhookSecretSwitchAt: orNull(moment('Until this time callbacks carry the signatures of two secrets.')),
  endpointState: oneOf(['CLOSED', 'OPEN', 'DISABLED'], 'State of the callback endpoint; CLOSED: working.'),
  endpointSince: orNull(moment('Time since which it is OPEN or DISABLED.')),
  disabledReason: orNull(text('Reason of DISABLED.')),
  createdAt: moment('Time of creation.'),
  updatedAt: moment('Time of the last change.'),
});

const callbackEndpoint = object('Callbacks of a merchant and the state of its endpoint.', {
  merchantId,
  callbackUrl: orNull(text('URL of the callback endpoint.')),
  state: oneOf(['CLOSED', 'OPEN', 'DISABLED'], 'CLOSED: working; OPEN: paused after failures.'),
  openedAt: orNull(moment('Time since which the endpoint is OPEN.')),
  probeAt: orNull(moment('Next attempt while OPEN.')),
  failuresInRow: integer('Number of failures since the last success.'),
  disabledAt: orNull(moment('Time since which it is DISABLED.')),
  disabledReason: orNull(text('Reason of DISABLED.')),
  lastFailedAt: orNull(moment('Time of the last failure.')),
  lastErrorCode: orNull(text('Code of the last failure.')),
  lastError: orNull(text('Message of the last failure.')),
  waiting: integer('Number of waiting callbacks.'),
  oldestSeconds: orNull({
    type: 'number',
    description: 'Age of the oldest waiting callback in seconds.',
  } as Schema<number>),
  dead: integer('Number of callbacks given up.'),
});

export const MERCHANT_ROUTES = {
  listMerchants: page('/v1/merchants', {
    tag,
    roles: ALL_ROLES,
    summary: 'List the merchants',
    answer: merchant,
  }),
  getMerchant: read('/v1/merchants/{merchantId}', {
    tag,
    roles: ALL_ROLES,
    summary: 'Get one merchant',
    params: { merchantId },
    answer: merchant,
  }),
  createMerchant: act('/v1/merchants', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Create a merchant',
    description: 'Token and webhook secret are shown only in this answer.',
    body: object(
      'The new merchant.',
      { merchantId },
      {
        version: oneOf(['V2', 'V3'], 'API version; default V3.'),
        name: settings.name,
        callbackUrl: settings.callbackUrl,
        returnOrigins: settings.returnOrigins,
      },
    ),
    answer: object('The secrets.', {
      merchantId,
      token: text('Key for signing requests.'),
      webhookSecret: text('Key for verifying callbacks.'),
    }),
  }),
  setMerchant: act('/v1/merchants/{merchantId}', {
    method: 'PATCH',
    tag,
    roles: ADMIN_ROLES,
    summary: 'Change settings of a merchant; omitted settings stay unchanged',
    params: { merchantId },
    body: object('Changed settings.', {}, { ...settings, logo: orNull(logo) }),
    answer: merchant,
  }),
  rotateToken: act('/v1/merchants/{merchantId}/token', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Create a new token for a merchant; the old one becomes invalid at once',
    params: { merchantId },
    answer: object('The new token.', { merchantId, token: text('Shown only in this answer.') }),
  }),
  rotateWebhookSecret: act('/v1/merchants/{merchantId}/webhook-secret', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Create a new webhook secret for a merchant, or end the overlap of two',
    description:
      '`ROTATE` creates a new secret that applies at once or after `overlapSeconds`, in which callbacks carry both signatures. `FINISH` ends an overlap with the new secret, `CANCEL` with the old one.',
    params: { merchantId },
    body: object(
      'The action.',
      { action: oneOf(['ROTATE', 'FINISH', 'CANCEL'], 'Action.') },
      { overlapSeconds: integer('Only for ROTATE.', { minimum: 0, maximum: 90 * 86_400 }) },
    ),
    answer: object('The webhook secret after the action.', {
      merchantId,
      webhookSecret: orNull(text('The new secret, for ROTATE; shown only in this answer.')),
      switchAt: orNull(moment('Time from which only the new secret signs; null: now.')),
    }),
  }),
  listCallbackEndpoints: page('/v1/callback-endpoints', {
    tag,
    roles: ALL_ROLES,
    summary: 'List backlog, endpoint state and last failure per merchant',
    filters: { merchantId },
    answer: callbackEndpoint,
  }),
  enableCallbackEndpoint: act('/v1/merchants/{merchantId}/callback-endpoint/enable', {
    tag,
    roles: SUPPORT_ROLES,
    summary: 'Resume sending to an endpoint that is paused or that answered 410',
    params: { merchantId },
    answer: callbackEndpoint,
  }),
};
