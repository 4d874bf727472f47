import { SHOWN_CHAIN_STATES } from '@opentill/domain/chain-status';
import { chain, contractAddress, pauseOf, reason, symbol } from './fields.ts';
import { cursor } from './order-views.ts';
import { ADMINS, ANYBODY, SUPPORTERS } from './roles.ts';
import { act, page, read } from './route.ts';
import { bool, integer, list, moment, object, oneOf, orNull, text } from './typed-schema.ts';

const tag = 'Chains';
const requestId = integer('Its number.', { minimum: 1, maximum: 2 ** 53 - 1 });

const rescan = object('A request to read blocks again.', {
  requestId,
  chain,
  fromHeight: integer('First block.'),
  toHeight: integer('Last block.'),
  nextHeight: orNull(integer('First block still to be read; null: not begun.')),
  requestedAt: moment('Asked.'),
  doneAt: orNull(moment('Done.')),
  found: orNull(integer('Transfers that were missing.')),
});

const pause = pauseOf('Why nothing of the chain is read.');

const status = object('The state of the chain, as `/readyz` of its scanner shows it.', {
  state: oneOf(
    SHOWN_CHAIN_STATES,
    '`HALTED` and `LEFT_OUT`: payouts wait with the obstacle `CHAIN_HALTED`. `LEFT_OUT`: it failed its start-up checks, and is checked again.',
  ),
  reason: orNull(text('Error code.')),
  detail: orNull(text('For operators.')),
  since: orNull(moment('Start of this state.')),
});

const network = object('A network as it is configured, and how far its scanner is.', {
  chain,
  family: text('Chain family.'),
  name: text('Name.'),
  enabled: bool('Takes orders.'),
  chainId: orNull(integer('EIP-155 chain id.')),
  nativeSymbol: text('Coin for fees.'),
  confirmations: text('Number of blocks, or `finalized`.'),
  endpoints: list(
    text('Host and port; nothing else of the URL is shown.'),
    'Providers, in the order of preference.',
  ),
  tokens: list(
    object('A token.', {
      symbol,
      contractAddress,
      decimals: integer('Decimals.'),
      minAmount: orNull(text('Smallest order.')),
      maxAmount: orNull(text('Largest order.')),
    }),
    'Configured tokens.',
  ),
  status,
  cursor: orNull(cursor),
  scanner: orNull(
    object('Who reads the chain.', {
      holder: text('Replica that holds the lease.'),
      until: moment('Unless it is renewed.'),
      expired: bool('Nobody holds it.'),
    }),
  ),
  signers: list(
    object('Who pays from a hot wallet.', {
      lease: text('Which lease.'),
      holder: text('Replica.'),
      until: moment('Unless it is renewed.'),
      expired: bool('Nobody holds it.'),
    }),
    'By lease.',
  ),
  pause: orNull(pause),
  openRescans: integer('Requests that wait.'),
});

export const CHAIN_ROUTES = {
  listChains: read('/v1/chains', {
    tag,
    roles: ANYBODY,
    summary: 'Networks, providers and scanners',
    description:
      'What a provider is worth at this moment (lag, faults, disagreements) is known to the scanner alone: `/metrics` and `/readyz` of its health port.',
    answer: list(network, 'As configured.'),
  }),
  pauseChain: act('/v1/chains/{chain}/pause', {
    tag,
    roles: ADMINS,
    summary: 'Stop reading a chain: nothing of it is seen, credited or expires',
    params: { chain },
    body: object('Why.', { reason }),
    answer: object('Paused.', { chain, pause: orNull(pause) }),
  }),
  resumeChain: act('/v1/chains/{chain}/resume', {
    tag,
    roles: ADMINS,
    summary: 'Read a chain again, from where it was left',
    params: { chain },
    body: object('Why.', { reason }),
    answer: object('Resumed.', { chain, pause: orNull(pause) }),
  }),
  listServices: read('/v1/services', {
    tag,
    roles: ANYBODY,
    summary: 'Which replicas of the services are alive',
    answer: list(
      object('A service.', {
        service: text('Schema of the service.'),
        instances: list(text('Replica.'), 'Alive now.'),
      }),
      'Those that announce themselves.',
    ),
  }),
  listRescans: page('/v1/rescans', {
    tag,
    roles: ANYBODY,
    summary: 'Requests to read blocks again, and how far they are',
    filters: { chain },
    answer: rescan,
  }),
  getRescan: read('/v1/rescans/{requestId}', {
    tag,
    roles: ANYBODY,
    summary: 'One request',
    params: { requestId },
    answer: rescan,
  }),
  requestRescan: act('/v1/rescans', {
    tag,
    roles: SUPPORTERS,
    summary: 'Have blocks read again; what was missing is found, the rest stays as it is',
    body: object('Which.', {
      chain,
      fromHeight: integer('First block.', { minimum: 0, maximum: 2 ** 53 - 1 }),
      toHeight: integer('Last block.', { minimum: 0, maximum: 2 ** 53 - 1 }),
    }),
    answer: rescan,
  }),
};
