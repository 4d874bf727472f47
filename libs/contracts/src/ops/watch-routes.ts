import { chain, chainWord, contractAddress, openOnly, reason, symbol } from './fields.ts';
import { incident, nonce, orderPk } from './order-views.ts';
import { ADMINS, ANYBODY, CLOSERS, TREASURERS } from './roles.ts';
import { act, page } from './route.ts';
import {
  baseUnitsText,
  decimalText,
  integer,
  list,
  moment,
  object,
  oneOf,
  orNull,
  text,
  uuid,
} from './typed-schema.ts';

const tag = 'Watch';

const hotWallet = object('A hot wallet.', {
  family: text('Chain family.'),
  address: text('Address.'),
  label: text('Its name; may be empty.'),
  addedAt: moment('Known since.'),
  balances: list(
    object('What the chain says.', {
      chain,
      symbol,
      contractAddress,
      amountBaseUnits: baseUnitsText('Balance.'),
      amount: orNull(decimalText('In display units.')),
      blockHeight: integer('At this block.'),
      seenAt: moment('When the signer looked.'),
    }),
    'By chain and token.',
  ),
  openNonces: list(nonce, 'Reserved or signed, not final yet; the first 100 of each chain.'),
});

const halt = object('A stop of all new payouts of a chain or a wallet; what is signed already goes on.', {
  haltId: uuid('Its id.'),
  chain,
  wallet: orNull(text('null: every wallet of the chain.')),
  kind: oneOf(
    ['OPERATOR', 'FOREIGN_NONCE', 'RESTORED'],
    'FOREIGN_NONCE: the signer met a transaction that is not its own. RESTORED: transactions were sent that this database, older than they are, does not know.',
  ),
  reason: text('Why.'),
  setAt: moment('Since.'),
  setBy: orNull(text('By whom.')),
  releasedAt: orNull(moment('Until.')),
  releasedBy: orNull(text('By whom.')),
  releasedReason: orNull(text('Why.')),
});

const hold = object('A stop of all new payouts of an asset.', {
  holdId: uuid('Its id.'),
  chain,
  symbol,
  incidentId: orNull(uuid('What it is about.')),
  reason: text('Why.'),
  setAt: moment('Since.'),
  setBy: orNull(text('By whom; null: by the gateway.')),
  releasedAt: orNull(moment('Until.')),
  releasedBy: orNull(text('By whom.')),
  releasedReason: orNull(text('Why.')),
});

export const WATCH_ROUTES = {
  listHotWallets: page('/v1/hot-wallets', {
    tag,
    roles: ANYBODY,
    summary: 'Hot wallets: addresses, balances on chain, open nonces',
    answer: hotWallet,
  }),
  listHalts: page('/v1/halts', {
    tag,
    roles: ANYBODY,
    summary: 'Kill switches, by chain or wallet',
    filters: { chain, open: openOnly },
    answer: halt,
  }),
  setHalt: act('/v1/halts', {
    tag,
    roles: TREASURERS,
    summary: 'Stop all new payouts of a chain, or of one hot wallet',
    body: object('What to stop.', { chain, reason }, { wallet: chainWord('Only this hot wallet.') }),
    answer: halt,
  }),
  releaseHalt: act('/v1/halts/{haltId}/release', {
    tag,
    roles: ADMINS,
    summary: 'Let payouts go on',
    description:
      'Before you release a FOREIGN_NONCE or RESTORED halt: the transaction that this database does not know may be ours, signed after the backup that it was restored from. Look at the chain first, and decide about every payout that such a transaction may have paid.',
    params: { haltId: uuid('The halt.') },
    body: object('Why.', { reason }),
    answer: halt,
  }),
  listHolds: page('/v1/holds', {
    tag,
    roles: ANYBODY,
    summary: 'Assets whose payouts are held',
    filters: { chain, symbol, open: openOnly },
    answer: hold,
  }),
  setHold: act('/v1/holds', {
    tag,
    roles: TREASURERS,
    summary: 'Hold the payouts of an asset',
    body: object('What to hold.', { chain, symbol, reason }),
    answer: hold,
  }),
  releaseHold: act('/v1/holds/{holdId}/release', {
    tag,
    roles: ADMINS,
    summary: 'Let the payouts of an asset go on',
    params: { holdId: uuid('The hold.') },
    body: object('Why.', { reason }),
    answer: hold,
  }),
  listIncidents: page('/v1/incidents', {
    tag,
    roles: ANYBODY,
    summary: 'What needs an operator’s eyes',
    filters: { chain, orderPk, open: openOnly },
    answer: incident,
  }),
  closeIncident: act('/v1/incidents/{incidentId}/close', {
    tag,
    roles: CLOSERS,
    summary: 'Close an incident, of payouts as FINANCE; a hold that it set stays until it is released',
    params: { incidentId: uuid('The incident.') },
    body: object('Why.', { reason }),
    answer: incident,
  }),
};
