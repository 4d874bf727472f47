import { headStaleSecondsOf, rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Clock } from '@opentill/runtime/clock';
import { checkBloom } from './check-bloom.ts';
import { checkHeadsSocket } from './check-heads-socket.ts';
import { examineTokens } from './check-tokens.ts';
import { openEndpoints, readHeader, type ReachedEndpoint } from './endpoint.ts';
import { examineEndpoint } from './examine-endpoint.ts';
import { findingOf, type Finding } from './finding.ts';

/** A source is left alone when it is behind the best one by more than so much, in blocks and in time. */
const LAG_BLOCKS = 3;
const LAG_SECONDS = 15;
const CLOCK_SECONDS = 30;

/** Holds an EVM network of the file against its endpoints: they against the file, and against each other. */
export async function examineNetwork(network: NetworkConfig, clock: Clock): Promise<readonly Finding[]> {
  const { chainId } = network;
  if (network.family !== 'EVM' || chainId === undefined) {
    const detail = `This version reads no network of the family ${network.family}.`;
    const mend = 'Nothing to mend: wait for a version that does.';
    return [{ outcome: 'warn', subject: network.chain, check: 'family', detail, mend }];
  }
  const endpoints = openEndpoints(rpcEndpointsOf(network), chainId);
  const looks = await Promise.all(
    endpoints.map(async (endpoint): Promise<ReachedEndpoint | Finding> => {
      try {
        return { ...endpoint, head: await readHeader(endpoint.client, 'latest') };
      } catch (error) {
        return findingOf(error, endpoint.label, 'reached');
      }
    }),
  );
  const reached = looks.flatMap((look) => ('head' in look ? [look] : []));
  const examined = await Promise.all(reached.map((endpoint) => examineEndpoint(endpoint, network)));
  const best = examined.toSorted((a, b) => Number(b.offersReceipts) - Number(a.offersReceipts))[0];
  const ofEndpoints = looks.flatMap((look) => {
    if (!('head' in look)) return [look];
    const found = examined.find(({ label }) => label === look.label)?.findings ?? [];
    return [checkHead(look, reached, network, clock), ...found];
  });
  return [
    checkSources(network, reached.length),
    ...ofEndpoints,
    ...(best === undefined ? [] : [await checkBloom(best, network)]),
    ...(best === undefined ? [] : await examineTokens(best.client, network)),
    await checkHeadsSocket(network),
  ];
}

function checkSources(network: NetworkConfig, reached: number): Finding {
  const found = { subject: network.chain, check: 'sources' };
  const hosts = rpcEndpointsOf(network).map(({ url }) => new URL(url).hostname);
  if (reached === 0) {
    const mend = `Set ${network.chain}_RPC_URLS or rpcUrls to endpoints that answer.`;
    return { ...found, outcome: 'fail', detail: 'No endpoint can be used.', mend };
  }
  const mend = `Name two endpoints of different providers in ${network.chain}_RPC_URLS: one cannot be compared.`;
  if (hosts.length < 2) return { ...found, outcome: 'warn', detail: 'One endpoint is configured.', mend };
  if (new Set(hosts).size < 2)
    return { ...found, outcome: 'warn', detail: `All endpoints are at ${hosts[0] ?? ''}.`, mend };
  const detail = `${reached} of ${hosts.length} endpoints can be used.`;
  if (reached >= 2) return { ...found, outcome: 'ok', detail };
  return { ...found, outcome: 'warn', detail, mend: 'Mend the others: one endpoint cannot be compared.' };
}

function checkHead(
  endpoint: ReachedEndpoint,
  all: readonly ReachedEndpoint[],
  network: NetworkConfig,
  clock: Clock,
): Finding {
  const found = { subject: endpoint.label, check: 'head' };
  const { height, timeSeconds } = endpoint.head;
  const ageSeconds = Math.round(clock.now().getTime() / 1_000 - timeSeconds);
  const lagBlocks = Math.max(...all.map(({ head }) => head.height)) - height;
  const lagSeconds = Math.max(...all.map(({ head }) => head.timeSeconds)) - timeSeconds;
  const lag = lagBlocks > 0 ? `, ${lagBlocks} blocks behind the best` : '';
  const detail = `Chain ${network.chainId ?? ''}, block ${height}, ${ageSeconds} s old${lag}.`;
  const staleSeconds = headStaleSecondsOf(network);
  if (ageSeconds > staleSeconds) {
    const mend = `Blocks of ${network.chain} should not be older than ${staleSeconds} s: the node is stuck or still syncing.`;
    return { ...found, outcome: 'fail', detail, mend };
  }
  if (ageSeconds < -CLOCK_SECONDS)
    return { ...found, outcome: 'warn', detail, mend: 'The clock of this machine is wrong: set it.' };
  if (lagBlocks <= LAG_BLOCKS || lagSeconds <= LAG_SECONDS) return { ...found, outcome: 'ok', detail };
  const mend = 'It is not asked while it is so far behind: take another endpoint if it stays so.';
  return { ...found, outcome: 'warn', detail, mend };
}
