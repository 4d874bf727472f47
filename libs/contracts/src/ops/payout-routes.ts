import { chain, chainWord, merchantId, reason, symbol } from './fields.ts';
import { orderPk, payout, PAYOUT_STATES } from './order-views.ts';
import { ADMIN_ROLES, ALL_ROLES, FINANCE_ROLES } from './roles.ts';
import { act, page, read } from './route.ts';
import { baseUnitsText, bool, object, oneOf, orNull, text } from './typed-schema.ts';

const tag = 'Payouts';

export const PAYOUT_ROUTES = {
  listPayouts: page('/v1/payouts', {
    tag,
    roles: ALL_ROLES,
    summary: 'List payouts with their state at the signer and their obstacle',
    filters: {
      merchantId,
      chain,
      symbol,
      state: oneOf(PAYOUT_STATES, 'State.'),
      waitingForApproval: bool('true: only payouts that wait for approval.'),
      stuck: bool(
        'true: only payouts with an obstacle: not signed, not in a block for ten minutes or past their expiry, or on a halted chain.',
      ),
    },
    answer: payout,
  }),
  getPayout: read('/v1/payouts/{orderPk}', {
    tag,
    roles: ALL_ROLES,
    summary: 'Get one payout',
    params: { orderPk },
    answer: payout,
  }),
  getApprovalText: read('/v1/payouts/{orderPk}/approval-text', {
    tag,
    roles: ALL_ROLES,
    summary: 'Get the text that an approver signs',
    description:
      'For comparison only: an approver’s program builds the text itself from what it has shown to the person, and signs that.',
    params: { orderPk },
    answer: object('The text and its parts.', {
      text: text('The exact text; its UTF-8 bytes are signed with ed25519.'),
      chain,
      wallet: text('Hot wallet that pays.'),
      contract: orNull(text('Token contract; null for the native coin.')),
      symbol,
      amountBaseUnits: baseUnitsText('Amount.'),
      receiver: text('Receiver.'),
      merchantId,
      orderPk,
    }),
  }),
  approvePayout: act('/v1/payouts/{orderPk}/approvals', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Submit an approver’s signature',
    description:
      'Checked to match this payout and this key. Only the signer knows whether the key belongs to an approver, and only it decides.',
    params: { orderPk },
    body: object('The signature.', {
      publicKey: text('ed25519, hex.', { pattern: '^[0-9a-f]{64}$' }),
      signature: text('ed25519, hex.', { pattern: '^[0-9a-f]{128}$' }),
    }),
    answer: payout,
  }),
  vetoPayout: act('/v1/payouts/{orderPk}/veto', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Refuse a payout that is not signed yet',
    description: 'It races with the signer: `state` of the payout soon shows which came first.',
    params: { orderPk },
    body: object('The veto.', { reason }),
    answer: payout,
  }),
  decidePayout: act('/v1/payouts/{orderPk}/decisions', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Decide whether an unknown transaction may have paid a payout',
    description:
      'PAID_BY: this transaction paid it; the signer checks it against the payout with two sources, also while the wallet is halted. PAY_AGAIN: no transaction paid it; it is signed again once no halt is open and the signer has proven that none of its own transactions can land. Look at the chain first.',
    params: { orderPk },
    body: object(
      'The decision.',
      { decision: oneOf(['PAY_AGAIN', 'PAID_BY'], 'Decision.'), reason },
      { txHash: chainWord('The transaction; only for PAID_BY.') },
    ),
    answer: payout,
  }),
};
