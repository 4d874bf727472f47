import { headStaleSecondsOf, rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Family } from '@opentill/domain/chains';
import type { Clock } from '@opentill/runtime/clock';
import { createHeadWatch, type HeadWatch } from '@opentill/chain-sources/watch-heads';
import { checkBloom } from './check-bloom.ts';
import { checkDataFee } from './check-data-fee.ts';
import { checkHeadsSocket } from './check-heads-socket.ts';
import { examineTokens } from './check-tokens.ts';
import { checkSources } from './check-sources.ts';
import { compareEndpoints } from './compare-endpoints.ts';
import { openEndpoints, readHeader, type ReachedEndpoint } from './endpoint.ts';
import { examineByReader } from './examine-by-reader.ts';
import { examineEndpoint } from './examine-endpoint.ts';
import { SUI, TRON } from './family-examinations.ts';
import { fail, findingOf, ok, warn, type Finding } from './finding.ts';

const CLOCK_SECONDS = 30;

type Examine = (network: NetworkConfig, clock: Clock) => Promise<readonly Finding[]>;

const EXAMINE: Readonly<Record<Family, Examine>> = {
  EVM: examineEvmNetwork,
  TRON: (network, clock) => examineByReader(TRON, network, clock),
  SUI: (network, clock) => examineByReader(SUI, network, clock),
};

export const examineNetwork: Examine = (network, clock) => EXAMINE[network.family](network, clock);

async function examineEvmNetwork(network: NetworkConfig, clock: Clock): Promise<readonly Finding[]> {
  const { chainId } = network;
  if (chainId === undefined) throw new TypeError(`${network.chain} has no chain id`);
  const endpoints = openEndpoints(rpcEndpointsOf(network), chainId);
  const results = await Promise.all(
    endpoints.map(async (endpoint): Promise<ReachedEndpoint | Finding> => {
      try {
        return { ...endpoint, head: await readHeader(endpoint.client, 'latest') };
      } catch (error) {
        return findingOf(error, endpoint.label, 'reached');
      }
    }),
  );
  const reached = results.flatMap((result) => ('head' in result ? [result] : []));
  const examined = await Promise.all(reached.map((endpoint) => examineEndpoint(endpoint, network)));
  const best = examined.toSorted((a, b) => Number(b.offersReceipts) - Number(a.offersReceipts))[0];
  const watch = watchHeads(reached, network, clock);
  const findingsOf = new Map(
    examined.map((endpoint, place) => [
      endpoint.label,
      [checkHead(endpoint, watch, place, network, clock), ...endpoint.findings],
    ]),
  );
  const isUsable = (findings: readonly Finding[]): boolean =>
    findings.every(({ outcome }) => outcome !== 'fail');
  return [
    checkSources(network, [...findingsOf.values()].filter(isUsable).length),
    ...results.flatMap((result) => ('head' in result ? (findingsOf.get(result.label) ?? []) : [result])),
    ...(await compareEndpoints(reached, network)),
    ...(best === undefined ? [] : [await checkBloom(best, network)]),
    ...(await Promise.all(reached.map((endpoint) => checkDataFee(endpoint, network)))),
    ...(await examineTokens(reached, network)),
    await checkHeadsSocket(network),
  ];
}

/** Uses the scanner's own head watch. Notes each head twice, to compare it with all others. */
function watchHeads(endpoints: readonly ReachedEndpoint[], network: NetworkConfig, clock: Clock): HeadWatch {
  const watch = createHeadWatch({
    blockTimeMs: network.blockTimeMs,
    staleSeconds: headStaleSecondsOf(network),
    nowMs: () => 0, // all were read at the same time
    epochSeconds: () => clock.now().getTime() / 1_000,
  });
  for (let result = 0; result < 2; result += 1)
    for (const [place, { head }] of endpoints.entries()) watch.note(place, head);
  return watch;
}

function checkHead(
  endpoint: ReachedEndpoint,
  watch: HeadWatch,
  place: number,
  network: NetworkConfig,
  clock: Clock,
): Finding {
  const found = { subject: endpoint.label, check: 'head' };
  const { height, timeSeconds } = endpoint.head;
  const ageSeconds = Math.round(clock.now().getTime() / 1_000 - timeSeconds);
  const lagBlocks = watch.lagBlocks(place) ?? 0;
  const lag = lagBlocks > 0 ? `, ${lagBlocks} blocks behind the best` : '';
  const detail = `Chain ${network.chainId ?? ''}, block ${height}, ${ageSeconds} s old${lag}.`;
  const staleSeconds = headStaleSecondsOf(network);
  if (ageSeconds > staleSeconds) {
    const mend = `Blocks of ${network.chain} should not be older than ${staleSeconds} s: the node is stuck or still syncing.`;
    return fail(found, detail, mend);
  }
  if (ageSeconds < -CLOCK_SECONDS)
    return warn(found, detail, 'The clock of this machine is slow: correct it.');
  if (watch.trouble(place) === null) return ok(found, detail);
  const mend = 'It is not used while it is this far behind: use another endpoint if it stays behind.';
  return warn(found, detail, mend);
}
