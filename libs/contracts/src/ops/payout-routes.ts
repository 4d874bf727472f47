import { chain, chainWord, merchantId, reason, symbol } from './fields.ts';
import { orderPk, payout, PAYOUT_STATES } from './order-views.ts';
import { ADMINS, ANYBODY, TREASURERS } from './roles.ts';
import { act, page, read } from './route.ts';
import { baseUnitsText, bool, object, oneOf, orNull, text } from './typed-schema.ts';

const tag = 'Payouts';

export const PAYOUT_ROUTES = {
  listPayouts: page('/v1/payouts', {
    tag,
    roles: ANYBODY,
    summary: 'Payouts: what the signer made of them, and what they wait for',
    filters: {
      merchantId,
      chain,
      symbol,
      state: oneOf(PAYOUT_STATES, 'State.'),
      waitingForApproval: bool('true: only those that wait for approval.'),
      stuck: bool(
        'true: only those with an obstacle: not signed, in no block for ten minutes or past their end, or on a halted chain.',
      ),
    },
    answer: payout,
  }),
  getPayout: read('/v1/payouts/{orderPk}', {
    tag,
    roles: ANYBODY,
    summary: 'One payout',
    params: { orderPk },
    answer: payout,
  }),
  getApprovalText: read('/v1/payouts/{orderPk}/approval-text', {
    tag,
    roles: ANYBODY,
    summary: 'What an approver signs',
    description:
      'An approver’s program makes the text itself of what it has shown to its human, and signs that; this one is for comparison.',
    params: { orderPk },
    answer: object('What is signed.', {
      text: text('The exact text; its UTF-8 bytes are signed with ed25519.'),
      chain,
      wallet: text('Hot wallet that pays.'),
      contract: orNull(text('Token contract; null for the native coin.')),
      symbol,
      amountBaseUnits: baseUnitsText('Amount.'),
      receiver: text('Who gets it.'),
      merchantId,
      orderPk,
    }),
  }),
  approvePayout: act('/v1/payouts/{orderPk}/approvals', {
    tag,
    roles: TREASURERS,
    summary: 'Hand in an approver’s signature',
    description:
      'Verified to be of this payout and this key. Whether the key is an approver’s, only the signer knows; it alone judges.',
    params: { orderPk },
    body: object('The signature.', {
      publicKey: text('ed25519, hex.', { pattern: '^[0-9a-f]{64}$' }),
      signature: text('ed25519, hex.', { pattern: '^[0-9a-f]{128}$' }),
    }),
    answer: payout,
  }),
  vetoPayout: act('/v1/payouts/{orderPk}/veto', {
    tag,
    roles: TREASURERS,
    summary: 'Refuse a payout that is not signed yet',
    description: 'It stands against the signer’s own commit: `state` of the payout says soon who was first.',
    params: { orderPk },
    body: object('The veto.', { reason }),
    answer: payout,
  }),
  decidePayout: act('/v1/payouts/{orderPk}/decisions', {
    tag,
    roles: ADMINS,
    summary: 'Say whether a payout that may have been paid by an unknown transaction was',
    description:
      'PAID_BY: this transaction paid it; the signer holds it against the payout, by two sources, also while the wallet is halted. PAY_AGAIN: nothing did; it is signed anew once no halt is open and the signer has proven that none of its own transactions can land. Look at the chain first.',
    params: { orderPk },
    body: object(
      'The decision.',
      { decision: oneOf(['PAY_AGAIN', 'PAID_BY'], 'What.'), reason },
      { txHash: chainWord('Of PAID_BY: the transaction.') },
    ),
    answer: payout,
  }),
};
