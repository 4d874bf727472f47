import { from, operatorId, until } from './fields.ts';
import { ADMIN_ROLES, ALL_ROLES, OPERATOR_ROLES } from './roles.ts';
import { act, page, read } from './route.ts';
import { bool, integer, moment, object, oneOf, open, orNull, text, words } from './typed-schema.ts';

const tag = 'Operators';
const role = oneOf(OPERATOR_ROLES, 'Role of the operator.');
const name = words('Name of the person.', 200);

const operator = object('An operator.', {
  operatorId,
  name,
  role,
  createdAt: moment('Time of creation.'),
  disabledAt: orNull(moment('Time since which the operator is disabled.')),
});
const withToken = object('An operator and his token, which is shown only in this answer.', {
  operator,
  token: text('Sent in the header Authorization: Bearer.'),
});

export const OPERATOR_ROUTES = {
  getMe: read('/v1/me', { tag, roles: ALL_ROLES, summary: 'Get the calling operator', answer: operator }),
  rotateMyToken: act('/v1/me/token', {
    tag,
    roles: ALL_ROLES,
    summary: 'Create a new token for the calling operator; the old one becomes invalid at once',
    answer: withToken,
  }),
  listOperators: page('/v1/operators', {
    tag,
    roles: ALL_ROLES,
    summary: 'List the operators',
    answer: operator,
  }),
  createOperator: act('/v1/operators', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Create an operator',
    body: object('The new operator.', { operatorId, name, role }),
    answer: withToken,
  }),
  setOperator: act('/v1/operators/{operatorId}', {
    method: 'PATCH',
    tag,
    roles: ADMIN_ROLES,
    summary: 'Change name or role of an operator, or disable him',
    params: { operatorId },
    body: object(
      'Changed values.',
      {},
      { name, role, disabled: bool('true: his token is rejected from now on.') },
    ),
    answer: operator,
  }),
  rotateOperatorToken: act('/v1/operators/{operatorId}/token', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Create a new token for an operator; the old one becomes invalid at once',
    params: { operatorId },
    answer: withToken,
  }),
  listAudit: page('/v1/audit', {
    tag: 'Audit',
    roles: ALL_ROLES,
    summary: 'List the acts of all operators, including refused ones',
    filters: {
      operator: operatorId,
      action: text('Operation.', { pattern: '^[A-Za-z]{1,64}$' }),
      subject: words('Object of the act.', 200),
      outcome: oneOf(['DONE', 'REFUSED'], 'Outcome.'),
      from,
      until,
    },
    answer: object('An act.', {
      entryId: integer('Number of the entry.'),
      at: moment('Time.'),
      operator: text('Operator.'),
      action: text('Operation.'),
      subject: orNull(text('Object of the act.')),
      outcome: oneOf(['DONE', 'REFUSED'], 'Outcome.'),
      requestId: orNull(text('X-Request-Id of the answer.')),
      details: open('Input without secrets; for a refusal its code.'),
    }),
  }),
};
