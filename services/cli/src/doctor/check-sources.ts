import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { fail, ok, warn, type Finding } from './finding.ts';

/**
 * @param usable without archives, which are last in the list and not used for comparison
 * @param singleSourceNote a sentence: further consequence of having one endpoint only
 */
export function checkSources(
  network: NetworkConfig,
  usable: number,
  singleSourceNote?: string,
  archives = 0,
): Finding {
  const found = { subject: network.chain, check: 'sources' };
  const endpoints = rpcEndpointsOf(network);
  const hosts = endpoints.slice(0, endpoints.length - archives).map(({ url }) => new URL(url).hostname);
  if (usable === 0) {
    const mend = `Set ${network.chain}_RPC_URLS or rpcUrls to endpoints that answer.`;
    return fail(found, 'No endpoint is usable.', mend);
  }
  const two = `Name two endpoints of different providers in ${network.chain}_RPC_URLS: a single one cannot be compared.`;
  const mend = singleSourceNote === undefined ? two : `${two} ${singleSourceNote}`;
  if (hosts.length < 2) return warn(found, 'One endpoint is configured.', mend);
  if (new Set(hosts).size < 2) return warn(found, `All endpoints are at ${hosts[0] ?? ''}.`, mend);
  const detail = `${usable} of ${hosts.length} endpoints are usable.`;
  if (usable >= 2) return ok(found, detail);
  return warn(found, detail, 'Correct the others: a single endpoint cannot be compared.');
}
