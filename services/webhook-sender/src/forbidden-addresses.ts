import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Outside the public internet (IANA special-purpose registries). IPv4 addresses inside IPv6 forms are checked too. */
const FORBIDDEN_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, cloud metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
];
/** Only 2000::/3 is public in IPv6 (RFC 4291, 2.4). Everything else is forbidden, and parts of it. */
const FORBIDDEN_IPV6 = [
  '::/3', // unspecified, loopback, IPv4-compatible, discard; mapped and NAT64 addresses are decoded before
  '4000::/2', // unallocated
  '8000::/1', // unallocated; private (fc00::/7), link-local (fe80::/10), site-local, multicast
  '2001::/23', // protocol assignments, Teredo, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
];
const NAT64_PREFIX = '64:ff9b::/96';

export interface AddressGuard {
  isAllowed(address: string): boolean;
}

/** @param allowed addresses or CIDR ranges that are allowed although they are private (local profile) */
export function createAddressGuard(allowed: readonly string[]): AddressGuard {
  const forbidden = rangeList([...FORBIDDEN_IPV4, ...FORBIDDEN_IPV6]);
  const exceptions = rangeList(allowed);
  return {
    isAllowed(address) {
      const judged = embeddedIpv4(address) ?? address;
      return isIP(judged) !== 0 && (exceptions(judged) || !forbidden(judged));
    },
  };
}

function embeddedIpv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  const zoneless = address.split('%')[0] ?? address;
  const parsed = ipaddr.IPv6.parse(zoneless);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  if (parsed.match(ipaddr.IPv6.parseCIDR(NAT64_PREFIX))) return parsed.toByteArray().slice(12).join('.');
  return undefined;
}

/** Two lists: a single BlockList would apply the IPv6 ranges around ::ffff:0:0/96 to IPv4 addresses. */
function rangeList(ranges: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    if (isIP(address) === 0) throw new Error(`${range} is neither an IP address nor a CIDR range`);
    const family = familyOf(address);
    const bits = family === 'ipv4' ? 32 : 128;
    lists[family].addSubnet(address, prefix === undefined ? bits : Number(prefix), family);
  }
  return (address) => lists[familyOf(address)].check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
