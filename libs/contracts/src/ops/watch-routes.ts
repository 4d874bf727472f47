import { chain, chainWord, contractAddress, openOnly, reason, symbol } from './fields.ts';
import { incident, nonce, orderPk } from './order-views.ts';
import { ADMIN_ROLES, ALL_ROLES, INCIDENT_ROLES, FINANCE_ROLES } from './roles.ts';
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
  label: text('Label; may be empty.'),
  addedAt: moment('Time of registration.'),
  balances: list(
    object('Balance on chain.', {
      chain,
      symbol,
      contractAddress,
      amountBaseUnits: baseUnitsText('Balance.'),
      amount: orNull(decimalText('In display units.')),
      blockHeight: integer('Block of the balance.'),
      seenAt: moment('Time at which the signer read it.'),
    }),
    'Balances by chain and token.',
  ),
  openNonces: list(nonce, 'Nonces reserved or signed, not final yet; the first 100 of each chain.'),
});

const halt = object('A stop of all new payouts of a chain or a wallet; already signed ones continue.', {
  haltId: uuid('Id of the halt.'),
  chain,
  wallet: orNull(text('Hot wallet; null: every wallet of the chain.')),
  kind: oneOf(
    ['OPERATOR', 'FOREIGN_NONCE', 'RESTORED'],
    'FOREIGN_NONCE: the signer found a transaction that is not its own. RESTORED: transactions were sent that the restored, older database does not know.',
  ),
  reason: text('Reason.'),
  setAt: moment('Start.'),
  setBy: orNull(text('Operator or service that set it.')),
  releasedAt: orNull(moment('Time of release.')),
  releasedBy: orNull(text('Operator who released it.')),
  releasedReason: orNull(text('Reason of the release.')),
});

const hold = object('A stop of all new payouts of an asset.', {
  holdId: uuid('Id of the hold.'),
  chain,
  symbol,
  incidentId: orNull(uuid('Incident that caused it.')),
  reason: text('Reason.'),
  setAt: moment('Start.'),
  setBy: orNull(text('Operator who set it; null: the gateway.')),
  releasedAt: orNull(moment('Time of release.')),
  releasedBy: orNull(text('Operator who released it.')),
  releasedReason: orNull(text('Reason of the release.')),
});

export const WATCH_ROUTES = {
  listHotWallets: page('/v1/hot-wallets', {
    tag,
    roles: ALL_ROLES,
    summary: 'List hot wallets with addresses, balances on chain and open nonces',
    answer: hotWallet,
  }),
  listHalts: page('/v1/halts', {
    tag,
    roles: ALL_ROLES,
    summary: 'List halts of chains and wallets',
    filters: { chain, open: openOnly },
    answer: halt,
  }),
  setHalt: act('/v1/halts', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Stop all new payouts of a chain, or of one hot wallet',
    body: object('The halt.', { chain, reason }, { wallet: chainWord('Only this hot wallet.') }),
    answer: halt,
  }),
  releaseHalt: act('/v1/halts/{haltId}/release', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Release a halt and resume payouts',
    description:
      'Before you release a FOREIGN_NONCE or RESTORED halt: the unknown transaction may be one of the gateway, signed after the backup that the database was restored from. Look at the chain first, and decide about every payout that such a transaction may have paid.',
    params: { haltId: uuid('Id of the halt.') },
    body: object('Reason of the release.', { reason }),
    answer: halt,
  }),
  listHolds: page('/v1/holds', {
    tag,
    roles: ALL_ROLES,
    summary: 'List holds of assets',
    filters: { chain, symbol, open: openOnly },
    answer: hold,
  }),
  setHold: act('/v1/holds', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Hold the payouts of an asset',
    body: object('The hold.', { chain, symbol, reason }),
    answer: hold,
  }),
  releaseHold: act('/v1/holds/{holdId}/release', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Release a hold and resume the payouts of its asset',
    params: { holdId: uuid('Id of the hold.') },
    body: object('Reason of the release.', { reason }),
    answer: hold,
  }),
  listIncidents: page('/v1/incidents', {
    tag,
    roles: ALL_ROLES,
    summary: 'List incidents that an operator must examine',
    filters: { chain, orderPk, open: openOnly },
    answer: incident,
  }),
  closeIncident: act('/v1/incidents/{incidentId}/close', {
    tag,
    roles: INCIDENT_ROLES,
    summary:
      'Close an incident (payout incidents: FINANCE); a hold that it caused stays until it is released',
    params: { incidentId: uuid('Id of the incident.') },
    body: object('Reason of closing.', { reason }),
    answer: incident,
  }),
};
