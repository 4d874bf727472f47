import ipaddr from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@opentill/domain/gateway-error';

export type ClientAddressErrorCode = 'TRUSTED_PROXIES_INVALID';

type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Determines the client address, which is the key of rate limits: an IPv4 address, or the /64 of an IPv6 address (the
 * usual size of one customer's network). `X-Forwarded-For` counts only as far as trusted proxies wrote it. It is read
 * from the right while the hop that added the entry is trusted. The first untrusted entry is the client.
 *
 * @throws GatewayError TRUSTED_PROXIES_INVALID
 */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const trusted = trustedProxies.map(parseRange);
  return (request) => {
    const peer = parse(request.socket.remoteAddress ?? '');
    if (peer === undefined) return 'unknown';
    if (trusted.length === 0 || !isTrusted(peer, trusted)) return limitKey(peer);
    return limitKey(clientBehindProxies(peer, request.headers['x-forwarded-for'], trusted));
  };
}

function clientBehindProxies(
  peer: ipaddr.IPv4 | ipaddr.IPv6,
  header: string | string[] | undefined,
  trusted: readonly Range[],
): ipaddr.IPv4 | ipaddr.IPv6 {
  const hops = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',');
  let client = peer;
  while (hops.length > 0 && isTrusted(client, trusted)) {
    const hop = parse(hops.pop()?.trim() ?? '');
    if (hop === undefined) return client;
    client = hop;
  }
  return client;
}

function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // Only four decimal parts: the library also accepts 0x7f.1 and a bare number.
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return undefined;
  return ipaddr.process(text); // turns an IPv4-mapped IPv6 address into IPv4
}

function parseRange(text: string): Range {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.process(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch (cause) {
    throw new GatewayError<ClientAddressErrorCode>(
      'TRUSTED_PROXIES_INVALID',
      `TRUSTED_PROXIES: ${text} is neither an address nor a CIDR range`,
      { retryable: false, cause },
    );
  }
}

function isTrusted(address: ipaddr.IPv4 | ipaddr.IPv6, trusted: readonly Range[]): boolean {
  return trusted.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits));
}

function limitKey(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  if (address.kind() === 'ipv4') return address.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`);
  return `${network.toString()}/64`;
}
