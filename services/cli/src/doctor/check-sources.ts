import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { fail, ok, warn, type Finding } from './finding.ts';

/**
 * Whether enough endpoints can be used, of different hosts.
 * @param usable without the archives
 * @param alone what one alone is not enough for besides, a sentence
 * @param archives stand last, and are no other endpoint to compare with
 */
export function checkSources(network: NetworkConfig, usable: number, alone?: string, archives = 0): Finding {
  const found = { subject: network.chain, check: 'sources' };
  const endpoints = rpcEndpointsOf(network);
  const hosts = endpoints.slice(0, endpoints.length - archives).map(({ url }) => new URL(url).hostname);
  if (usable === 0) {
    const mend = `Set ${network.chain}_RPC_URLS or rpcUrls to endpoints that answer.`;
    return fail(found, 'No endpoint can be used.', mend);
  }
  const two = `Name two endpoints of different providers in ${network.chain}_RPC_URLS: one cannot be compared.`;
  const mend = alone === undefined ? two : `${two} ${alone}`;
  if (hosts.length < 2) return warn(found, 'One endpoint is configured.', mend);
  if (new Set(hosts).size < 2) return warn(found, `All endpoints are at ${hosts[0] ?? ''}.`, mend);
  const detail = `${usable} of ${hosts.length} endpoints can be used.`;
  if (usable >= 2) return ok(found, detail);
  return warn(found, detail, 'Mend the others: one endpoint cannot be compared.');
}
