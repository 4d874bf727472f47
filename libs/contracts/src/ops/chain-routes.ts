import { SHOWN_CHAIN_STATES } from '@opentill/domain/chain-status';
import { chain, contractAddress, pauseOf, reason, symbol } from './fields.ts';
import { cursor } from './order-views.ts';
import { ADMIN_ROLES, ALL_ROLES, SUPPORT_ROLES } from './roles.ts';
import { act, page, read } from './route.ts';
import { bool, integer, list, moment, object, oneOf, orNull, text } from './typed-schema.ts';

const tag = 'Chains';
const requestId = integer('Id of the request.', { minimum: 1, maximum: 2 ** 53 - 1 });

const rescan = object('A request to read blocks again.', {
  requestId,
  chain,
  fromHeight: integer('First block.'),
  toHeight: integer('Last block.'),
  nextHeight: orNull(integer('Next block to read; null: not started.')),
  requestedAt: moment('Time of the request.'),
  doneAt: orNull(moment('Time of completion.')),
  found: orNull(integer('Missing transfers that were found.')),
});

const pause = pauseOf('Reason why the chain is not read.');

const status = object('The state of the chain, as `/readyz` of its scanner shows it.', {
  state: oneOf(
    SHOWN_CHAIN_STATES,
    '`HALTED` and `LEFT_OUT`: payouts wait with the obstacle `CHAIN_HALTED`. `LEFT_OUT`: its start-up checks failed and are repeated.',
  ),
  reason: orNull(text('Error code.')),
  detail: orNull(text('Details for operators.')),
  since: orNull(moment('Start of this state.')),
});

const network = object('A configured network and the progress of its scanner.', {
  chain,
  family: text('Chain family.'),
  name: text('Name.'),
  enabled: bool('Whether new orders are accepted.'),
  chainId: orNull(integer('EIP-155 chain id.')),
  nativeSymbol: text('Symbol of the native coin.'),
  confirmations: text('Number of confirmations, or `finalized`.'),
  endpoints: list(
    text('Host and port; the rest of the URL is not shown.'),
    'Providers in order of preference.',
  ),
  tokens: list(
    object('A token.', {
      symbol,
      contractAddress,
      decimals: integer('Decimals.'),
      minAmount: orNull(text('Minimum amount of an order.')),
      maxAmount: orNull(text('Maximum amount of an order.')),
    }),
    'Configured tokens.',
  ),
  status,
  cursor: orNull(cursor),
  scanner: orNull(
    object('Replica that reads the chain.', {
      holder: text('Replica that holds the lease.'),
      until: moment('End of the lease unless it is renewed.'),
      expired: bool('Whether the lease has expired.'),
    }),
  ),
  signers: list(
    object('Replica that pays from a hot wallet.', {
      lease: text('Name of the lease.'),
      holder: text('Replica.'),
      until: moment('End of the lease unless it is renewed.'),
      expired: bool('Whether the lease has expired.'),
    }),
    'One entry per lease.',
  ),
  pause: orNull(pause),
  openRescans: integer('Number of open rescan requests.'),
});

export const CHAIN_ROUTES = {
  listChains: read('/v1/chains', {
    tag,
    roles: ALL_ROLES,
    summary: 'List networks, providers and scanners',
    description:
      'The current quality of a provider (lag, faults, disagreements) is known only to the scanner: see `/metrics` and `/readyz` of its health port.',
    answer: list(network, 'In the order of the network file.'),
  }),
  pauseChain: act('/v1/chains/{chain}/pause', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Stop reading a chain: its transfers are not detected or credited, and its orders do not expire',
    params: { chain },
    body: object('Reason of the pause.', { reason }),
    answer: object('The pause.', { chain, pause: orNull(pause) }),
  }),
  resumeChain: act('/v1/chains/{chain}/resume', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Resume reading a chain where it stopped',
    params: { chain },
    body: object('Reason of the resumption.', { reason }),
    answer: object('The chain after the resumption.', { chain, pause: orNull(pause) }),
  }),
  listServices: read('/v1/services', {
    tag,
    roles: ALL_ROLES,
    summary: 'List the running replicas of the services',
    answer: list(
      object('A service.', {
        service: text('Schema of the service.'),
        instances: list(text('Replica.'), 'Running replicas.'),
      }),
      'Services that announce their presence.',
    ),
  }),
  listRescans: page('/v1/rescans', {
    tag,
    roles: ALL_ROLES,
    summary: 'List requests to read blocks again, with progress',
    filters: { chain },
    answer: rescan,
  }),
  getRescan: read('/v1/rescans/{requestId}', {
    tag,
    roles: ALL_ROLES,
    summary: 'Get one rescan request',
    params: { requestId },
    answer: rescan,
  }),
  requestRescan: act('/v1/rescans', {
    tag,
    roles: SUPPORT_ROLES,
    summary: 'Read blocks again: missing transfers are added, the others stay unchanged',
    body: object('Blocks to read.', {
      chain,
      fromHeight: integer('First block.', { minimum: 0, maximum: 2 ** 53 - 1 }),
      toHeight: integer('Last block.', { minimum: 0, maximum: 2 ** 53 - 1 }),
    }),
    answer: rescan,
  }),
};
