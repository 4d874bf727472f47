import { from, operatorId, until } from './fields.ts';
import { ADMINS, ANYBODY, OPERATOR_ROLES } from './roles.ts';
import { act, page, read } from './route.ts';
import { bool, integer, moment, object, oneOf, open, orNull, text, words } from './typed-schema.ts';

const tag = 'Operators';
const role = oneOf(OPERATOR_ROLES, 'What the operator may do.');
const name = words('A human’s name.', 200);

const operator = object('An operator.', {
  operatorId,
  name,
  role,
  createdAt: moment('Made.'),
  disabledAt: orNull(moment('Since when the token is refused.')),
});
const withToken = object('An operator and his token, which is never shown again.', {
  operator,
  token: text('Goes into the header Authorization: Bearer.'),
});

export const OPERATOR_ROUTES = {
  getMe: read('/v1/me', { tag, roles: ANYBODY, summary: 'Who asks', answer: operator }),
  rotateMyToken: act('/v1/me/token', {
    tag,
    roles: ANYBODY,
    summary: 'A new token for who asks; the old one ends at once',
    answer: withToken,
  }),
  listOperators: page('/v1/operators', { tag, roles: ANYBODY, summary: 'The operators', answer: operator }),
  createOperator: act('/v1/operators', {
    tag,
    roles: ADMINS,
    summary: 'Make an operator',
    body: object('The new operator.', { operatorId, name, role }),
    answer: withToken,
  }),
  setOperator: act('/v1/operators/{operatorId}', {
    method: 'PATCH',
    tag,
    roles: ADMINS,
    summary: 'Change name or role of an operator, or disable him',
    params: { operatorId },
    body: object(
      'What changes.',
      {},
      { name, role, disabled: bool('true: his token is refused from now on.') },
    ),
    answer: operator,
  }),
  rotateOperatorToken: act('/v1/operators/{operatorId}/token', {
    tag,
    roles: ADMINS,
    summary: 'A new token for an operator; the old one ends at once',
    params: { operatorId },
    answer: withToken,
  }),
  listAudit: page('/v1/audit', {
    tag: 'Audit',
    roles: ANYBODY,
    summary: 'Every act of every operator, and every one that was refused',
    filters: {
      operator: operatorId,
      action: text('Operation.', { pattern: '^[A-Za-z]{1,64}$' }),
      subject: words('What it was done to.', 200),
      outcome: oneOf(['DONE', 'REFUSED'], 'Outcome.'),
      from,
      until,
    },
    answer: object('An act.', {
      entryId: integer('Number.'),
      at: moment('When.'),
      operator: text('Who.'),
      action: text('Operation.'),
      subject: orNull(text('What it was done to.')),
      outcome: oneOf(['DONE', 'REFUSED'], 'Outcome.'),
      requestId: orNull(text('X-Request-Id of the answer.')),
      details: open('What was given, without secrets; of a refusal its code.'),
    }),
  }),
};
