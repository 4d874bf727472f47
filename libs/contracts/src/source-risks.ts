import type { Chain } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { rpcEndpointsOf, type NetworkConfig } from './network-config.ts';
import { isTestNetwork } from './network-kind.ts';

/** `same-host`: one operator can make two sources agree. `plain-http` (or ws): answers can be changed in transit. */
export const SOURCE_RISKS = ['same-host', 'plain-http'] as const;
export type SourceRiskKind = (typeof SOURCE_RISKS)[number];

export interface SourceRisk {
  readonly chain: Chain;
  readonly kind: SourceRiskKind;
  /** Only hosts, because URLs contain keys of providers. */
  readonly hosts: readonly string[];
}

export type SourceRisksErrorCode = 'SOURCES_UNSAFE';

/** Checks enabled main networks only. */
export function findSourceRisks(networks: readonly NetworkConfig[]): readonly SourceRisk[] {
  return networks
    .filter((network) => network.enabled && !isTestNetwork(network))
    .flatMap((network) => [...sharedHosts(network), ...plainHosts(network)]);
}

/**
 * @param accepted kinds of risks that the operator accepts
 * @throws GatewayError SOURCES_UNSAFE, with each other risk and its correction
 */
export function requireSafeSources(
  networks: readonly NetworkConfig[],
  accepted: readonly SourceRiskKind[],
): void {
  const risks = findSourceRisks(networks).filter(({ kind }) => !accepted.includes(kind));
  if (risks.length === 0) return;
  throw new GatewayError<SourceRisksErrorCode>('SOURCES_UNSAFE', risks.map(describeRisk).join(' '), {
    retryable: false,
    context: { risks },
  });
}

export function describeRisk({ chain, kind, hosts }: SourceRisk): string {
  const named = hosts.join(', ');
  if (kind === 'same-host')
    return (
      `${chain}: two sources have the host ${named}. Name sources of different hosts in ${chain}_RPC_URLS, ` +
      'or accept it with SOURCE_RISKS_ACCEPTED=same-host.'
    );
  return (
    `${chain}: plain http to ${named}. Use https in ${chain}_RPC_URLS (and _SOLIDITY_URLS; wss in _WS_URL), ` +
    'or accept it with SOURCE_RISKS_ACCEPTED=plain-http.'
  );
}

/** A TRON node may serve its solidity API at another port. */
function urlsOfSources(network: NetworkConfig): readonly (readonly string[])[] {
  return rpcEndpointsOf(network).map(({ url }, place) => {
    const solidity = network.solidityUrls?.[place];
    return solidity === undefined ? [url] : [url, solidity];
  });
}

function sharedHosts(network: NetworkConfig): readonly SourceRisk[] {
  const hosts = urlsOfSources(network).flatMap((urls) => [...new Set(urls.map(hostOf))]);
  const shared = [...new Set(hosts.filter((host, place) => hosts.indexOf(host) !== place))];
  return shared.length === 0 ? [] : [{ chain: network.chain, kind: 'same-host', hosts: shared }];
}

function plainHosts(network: NetworkConfig): readonly SourceRisk[] {
  const { wsUrl } = network;
  const plain = [...urlsOfSources(network).flat(), ...(wsUrl === undefined ? [] : [wsUrl])]
    .filter((url) => ['http:', 'ws:'].includes(new URL(url).protocol))
    .map(hostOf)
    .filter((host) => host !== 'localhost');
  return plain.length === 0 ? [] : [{ chain: network.chain, kind: 'plain-http', hosts: [...new Set(plain)] }];
}

/** `::ffff:a.b.c.d` in the form of the URL standard. */
const MAPPED = /^\[::ffff:(?<high>[0-9a-f]{1,4}):(?<low>[0-9a-f]{1,4})\]$/;

/** Every name of this machine becomes `localhost`. */
function hostOf(url: string): string {
  // The URL parser normalises case and notations of IPv4.
  const host = unmapped(new URL(url).hostname.replace(/\.+$/, ''));
  return isLoopback(host) ? 'localhost' : host;
}

function unmapped(host: string): string {
  const mapped = MAPPED.exec(host)?.groups;
  if (mapped === undefined) return host;
  const [high, low] = [mapped['high'], mapped['low']].map((part) => Number.parseInt(part ?? '0', 16));
  return [high, low].flatMap((part = 0) => [part >> 8, part & 255]).join('.');
}

function isLoopback(host: string): boolean {
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '[::1]' ||
    /^127(\.\d{1,3}){3}$/.test(host)
  );
}
